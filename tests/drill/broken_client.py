"""A client of a drill that breaks promises at numbers of its own: what the drill must accuse of exactly that."""

from __future__ import annotations

import sys

from mqctl.client.message.outgoing import OutgoingMessage, SendResult, SendStatus
from mqctl.client.producer.producer import Producer
from mqctl.drill import client
from mqctl.model.queue import MessageQueue

DROPPED, REFUSED, TWICE, SWAPPED, LATE = 107, 113, 119, 125, 199
LATE_US = 5_500_000
KEYS = 10
_say, _send = client.say, Producer.send
_waiting: list[str] = []


def say(line: str) -> None:
    """Says something else than what happened."""
    words = line.split(" ")
    number = int(words[2] if words[0] != "d" else words[3]) if len(words) > 3 else -1
    if words[0] == "a" and number == REFUSED:
        line = f"f {words[1]} {number} 2"
    if words[0] == "d" and number == SWAPPED:
        _waiting.append(line)
        return
    if words[0] == "d" and number == LATE:
        line = " ".join(["d", str(int(words[1]) + LATE_US), *words[2:]])
    _say(line)
    if words[0] == "d" and number == TWICE:
        _say(line)
    if words[0] == "d" and number == SWAPPED + KEYS:
        held = _waiting.pop().split(" ")
        _say(" ".join([held[0], str(client.now_us()), *held[2:]]))


def send(self: Producer, message: OutgoingMessage, **options: object) -> SendResult:
    """Acknowledges what it never sends."""
    if message.body.split(b" ")[1] == b"%d" % DROPPED:
        nowhere = MessageQueue("-", "-", -1)
        return SendResult(SendStatus.SEND_OK, "", "", nowhere, -1, "")
    return _send(self, message, **options)  # type: ignore[arg-type]


if __name__ == "__main__":
    client.say = say
    Producer.send = send  # type: ignore[method-assign]
    client.run_client(sys.stdin.buffer)
