"""kill -9 under traffic, through the whole broker: nothing acknowledged is lost, and the next start is ready."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random

import pytest

from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import PullMessageReply, UpdateConsumerOffset
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer

_ROUNDS = 3
_QUEUES = 4
_IN_FLIGHT = 32


def send_until_killed(address: str, pid: int, first: int, kill_after: int) -> list[int]:
    """Sends numbered messages with many in flight and kills the broker on the way; returns the acknowledged numbers."""
    acknowledged: list[int] = []
    posted: dict[int, int] = {}
    number = first
    with Peer(address) as peer:
        try:
            while True:
                while len(posted) < _IN_FLIGHT:
                    opaque = peer.post(
                        send("T", queue_id=number % _QUEUES, properties={"KEYS": f"k{number}"}), b"%d" % number
                    )
                    posted[opaque] = number
                    number += 1
                answer = peer.receive(lambda command: command.is_response)
                assert answer.code == 0
                acknowledged.append(posted.pop(answer.opaque))
                if len(acknowledged) == kill_after:
                    os.kill(pid, signal.SIGKILL)
        except ConnectionError:
            return acknowledged


def stored(address: str) -> set[int]:
    """Reads all messages back and checks that each queue is without gaps."""
    numbers: set[int] = set()
    with Peer(address) as peer:
        for queue_id in range(_QUEUES):
            offset = 0
            while (answer := peer.call(pull("T", offset, queue_id=queue_id))).code == 0:
                messages = decode_messages(answer.body)
                assert [message.queue_offset for message in messages] == list(range(offset, offset + len(messages)))
                numbers.update(int(message.body) for message in messages)
                offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
            assert answer.remark == "OFFSET_OVERFLOW_ONE"
    return numbers


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_nothing_acknowledged_is_lost(tmp_path: Path, flush: str) -> None:
    """A killed process leaves the page cache alone, so that ASYNC_FLUSH loses nothing either."""
    random = Random(7)
    acknowledged: list[int] = []
    words = ("--data-dir", str(tmp_path), "--set", f"flushDiskType={flush}", "--set", "mappedFileSizeCommitLog=65536")
    for round_ in range(_ROUNDS):
        with process(*words) as (running, ready):
            address = ready["brokers"][0]["address"]
            assert stored(address) >= set(acknowledged) if acknowledged else True
            acknowledged += send_until_killed(address, running.pid, round_ * 1_000_000, random.randrange(200, 900))
    with process(*words) as (_, ready):
        assert stored(ready["brokers"][0]["address"]) >= set(acknowledged)
    assert len(acknowledged) > 600


def test_a_clean_stop_keeps_the_offsets(tmp_path: Path) -> None:
    commit = UpdateConsumerOffset(consumer_group="GC", topic="T", queue_id=0, commit_offset=7)
    with process("--data-dir", str(tmp_path)) as (_, ready), Peer(ready["brokers"][0]["address"]) as peer:
        assert peer.call(send("T"), b"x").code == 0
        assert peer.call(commit).code == 0
    assert '"T@GC":{0:7' in (tmp_path / "broker-a" / "config" / "consumerOffset.json").read_text()
