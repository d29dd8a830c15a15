"""What a drill and its clients say to each other: lines on the client's input and output; docs/drill.md describes them.

Any program can be a client. The drill writes the task as one line of JSON, and then orders; the client writes `ready`
and then a line for each thing that happens, before it lets the next one happen.
"""

from __future__ import annotations

from typing import Literal

import msgspec

READY = b"ready"
SEND = "send"
STOP = "stop"
NOWHERE = "- - -1 -1"
"""What stands for topic, broker, queue id and queue offset where there are none."""


class DrillTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a client is told first.

    Attributes:
        version: of this protocol.
        name: of the client: the body of a message begins with `NAME NUMBER KEY `, its producer's name, -1 for no key.
        mode: of a consumer: `concurrent`, `orderly`, `key-ordered`, `pop`, `pop-orderly`, `broadcast`.
        sends: of a producer: `normal`, `keyed`, `delayed`, `transactional`.
        group: consumer group, or producer group.
        time_scale: how much faster than usual the client's periods run.
        fails: a consumer asks for every so-many-th number again, the first time it comes; 0 for none.
        directory: where the client may keep files.
    """

    version: int = 1
    role: Literal["producer", "consumer"]
    name: str
    namesrv: str
    topic: str
    group: str
    time_scale: float = 1.0
    access_key: str | None = None
    secret_key: str | None = None
    directory: str = ""
    mode: str = "concurrent"
    threads: int = 4
    fails: int = 0
    work_ms: int = 0
    sends: str = "normal"
    keys: int = 0
    body_bytes: int = 100
    delay_level: int = 0
    rolls_back: int = 0


def body_of(name: str, number: int, key: int, size_bytes: int) -> bytes:
    """Returns the body that names a message."""
    head = b"%s %d %d " % (name.encode(), number, key)
    return head + b"." * max(0, size_bytes - len(head))
