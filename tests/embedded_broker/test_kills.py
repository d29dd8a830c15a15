"""A broker process that is killed again and again while clients send: what it acknowledged is there in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH
from mqctl.model.damage import DamageGrade
from mqctl.protocol.message_record import decode_messages
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

QUEUES = 4
SENDERS = 3
DELAYED_EVERY = 7
SETTINGS = (
    "mappedFileSizeCommitLog=65536", "mappedFileSizeConsumeQueue=2000", "maxHashSlotNum=500", "maxIndexNum=2000",
)  # fmt: skip


class Traffic:
    """Senders that go on until their connection breaks.

    Attributes:
        acknowledged: numbers of the messages that were answered with success.
    """

    def __init__(self, *, delayed_every: int | None = DELAYED_EVERY) -> None:
        self._delayed_every = delayed_every
        self.acknowledged: set[int] = set()
        self.sent = count()
        self._enough = threading.Event()
        self._wanted = 0

    def run(self, broker: subprocess.Popen[str], address: str, wanted: int) -> None:
        """Sends from several connections and kills the broker once `wanted` more messages are acknowledged."""
        self._enough.clear()
        self._wanted = len(self.acknowledged) + wanted
        senders = [threading.Thread(target=self._send, args=(address,)) for _ in range(SENDERS)]
        for sender in senders:
            sender.start()
        assert self._enough.wait(60)
        broker.kill()
        for sender in senders:
            sender.join(60)

    def _send(self, address: str) -> None:
        try:
            with Peer(address) as peer:
                while True:
                    self._send_one(peer)
        except ConnectionError:
            return  # the broker is dead

    def _send_one(self, peer: Peer) -> None:
        number = next(self.sent)
        properties = {"KEYS": f"k{number}"}
        if self._delayed_every and number % self._delayed_every == 0:
            properties["DELAY"] = "1"
        request = send("T", queue_id=number % QUEUES, queues=QUEUES, properties=properties)
        assert peer.call(request, b"%d" % number).code == 0
        self.acknowledged.add(number)
        if len(self.acknowledged) >= self._wanted:
            self._enough.set()


def start(root: Path, flush_disk_type: str) -> tuple[subprocess.Popen[str], str]:
    words = [word for item in (*SETTINGS, f"flushDiskType={flush_disk_type}") for word in ("--set", item)]
    command = [sys.executable, "-m", "embedded_broker", "--data-dir", str(root), *words]
    broker = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert broker.stdout is not None
    return broker, json.loads(broker.stdout.readline())["brokers"][0]["address"]


def end(broker: subprocess.Popen[str]) -> None:
    broker.kill()
    broker.wait(60)
    assert broker.stdout is not None
    broker.stdout.close()


def everything(address: str) -> list[int]:
    """Pulls all messages of the topic."""
    numbers: list[int] = []
    with Peer(address) as peer:
        for queue_id in range(QUEUES):
            offset = 0
            while (answer := peer.call(pull("T", offset, queue_id=queue_id))).code == 0:
                messages = decode_messages(answer.body)
                assert [message.queue_offset for message in messages] == list(range(offset, offset + len(messages)))
                numbers += [int(message.body) for message in messages]
                offset += len(messages)
    return numbers


@pytest.mark.parametrize("flush_disk_type", [SYNC_FLUSH, ASYNC_FLUSH])
def test_what_was_acknowledged_outlives_repeated_kills(tmp_path: Path, flush_disk_type: str) -> None:
    traffic = Traffic()
    for wanted in (1, 60, 150, 300):
        broker, address = start(tmp_path, flush_disk_type)
        try:
            traffic.run(broker, address, wanted)
        finally:
            end(broker)
    shape = dict(item.split("=") for item in SETTINGS)
    with EmbeddedCluster(data_dir=tmp_path, settings=shape, virtual_time=True) as cluster:
        cluster.advance(20_000)
        numbers = everything(cluster.broker().address)
    assert traffic.acknowledged <= set(numbers)
    direct = [number for number in numbers if number % DELAYED_EVERY]
    assert len(direct) == len(set(direct))  # only what was delivered by the schedule may come twice
    report = verify(StoreDirectory.open(tmp_path / "broker-a"))
    assert [damage for damage in report.damages if damage.grade is DamageGrade.DAMAGE] == []


@pytest.mark.parametrize("wanted", [1, 200])
def test_a_killed_store_is_judged_as_killed_and_the_next_start_heals_it(
    tmp_path: Path, mqctl: Callable[..., Outcome], wanted: int
) -> None:
    """A kill in the first second is no loss of settings; what is left to say is said of real brokers, too."""
    root = tmp_path / "broker-a"
    traffic = Traffic(delayed_every=None)
    broker, address = start(tmp_path, SYNC_FLUSH)
    try:
        traffic.run(broker, address, wanted)
    finally:
        end(broker)
    killed = mqctl("doctor", "--store", root, "-o", "json")
    unclean = {
        "MQ101",
        "MQ102",
        "MQ103",
        "MQ105",
    }  # abort file, no checkpoint, messages not in queues, or the index, yet
    assert {finding["code"] for finding in killed.json["findings"]} <= unclean
    assert killed.exit_code == 1
    broker, address = start(tmp_path, SYNC_FLUSH)
    try:
        assert traffic.acknowledged <= set(everything(address))
        broker.terminate()
        assert broker.wait(60) == 0
    finally:
        end(broker)
    assert mqctl("store", "verify", "--store", root).exit_code == 0
    healed = mqctl("doctor", "--store", root, "-o", "json")
    assert (healed.exit_code, healed.json["findings"]) == (0, [])
