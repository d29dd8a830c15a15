"""Stores go both ways: what the embedded broker wrote, a real one of the same release goes on with, and the reverse.

Each case is a chain: the embedded broker does a round of work, a real broker opens its store, finishes that round and
does another, and the embedded broker opens the store again and finishes that. Brokers end tidily or are killed in the
middle of a burst of sends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.real.artifacts import RELEASES, is_v5
from tests.real.cluster import SMALL, Plan, up
from tests.real.conftest import require, turn
from tests.real.members import wait
from tests.real.rounds import SETTINGS, Round, all_of

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
Run = Callable[..., Outcome]
_BURST, _ANSWERED = 400, 100
_ENDS_S = 60
_WRITTEN_S = 60.0  # consumer offsets are written down every five seconds


class Burst:
    """Sends on their way when a broker is killed; those that were answered must be there afterwards."""

    def __init__(self, peer: Peer, topic: str) -> None:
        self.topic, self._peer = topic, peer
        self._opaques = [peer.post(send(topic, queues=1), f"{number}".encode()) for number in range(_BURST)]
        self.answered = {
            f"{number}".encode() for number, opaque in enumerate(self._opaques[:_ANSWERED]) if self._is_taken(opaque)
        }

    def _is_taken(self, opaque: int) -> bool:
        return self._peer.answer_to(opaque).code == 0

    def is_kept(self, peer: Peer) -> None:
        """All that was answered can be read, and nothing is there twice; a pool of threads takes sends in any order."""
        kept = [message.body for message in all_of(peer, self.topic, 0)]
        assert len(self.answered) == _ANSWERED and self.answered <= set(kept)
        assert len(set(kept)) == len(kept)


@contextmanager
def embedded(release: str, data: Path) -> Iterator[tuple[psutil.Popen, str]]:
    """An embedded broker in a process of its own; gives the process and the broker's address."""
    settings = {**SMALL, **SETTINGS}
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    line = "5.3.3" if is_v5(release) else "4.9.8"
    process = psutil.Popen(
        [sys.executable, "-m", "embedded_broker", "--data-dir", str(data), "--as-version", line, *given],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, json.loads(process.stdout.readline())["brokers"][0]["address"]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(_ENDS_S)
        process.stdout.close()


def is_written(store: Path, group: str) -> bool:
    """Whether the offsets of a group are in the store's file."""
    file = store / "config" / "consumerOffset.json"
    return file.exists() and group in file.read_text(errors="replace")


def is_sound(mqctl: Run, store: Path, *, killed: bool) -> None:
    """`store verify` finds no more than what a kill leaves in any store, the doctor no error; and the end was tidy."""
    assert (store / "abort").exists() == killed
    verified = mqctl("store", "verify", "--store", str(store), "-o", "json").json
    odd = [(item["code"], item["details"]) for item in verified["deviations"] if item["grade"] != "expected"]
    diagnosed = mqctl("doctor", "--store", str(store), "-o", "json").json
    wrong = [(item["code"], item["what"]) for item in diagnosed["findings"] if item["severity"] in ("error", "fatal")]
    assert (odd, wrong) == ([], [])


@pytest.mark.parametrize("killed", [False, True], ids=["tidy", "killed"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_store_goes_from_one_kind_of_broker_to_the_other_and_back(
    release: str, killed: bool, tmp_path: Path, mqctl: Run
) -> None:
    require(release)
    first, second = (Round(name, is_v5(release)) for name in ("first", "second"))
    bursts: list[Burst] = []
    data, place = tmp_path / "embedded", tmp_path / "real"
    own, theirs = data / "broker-a", place / "store-broker-a"

    with embedded(release, data) as (process, address), first.peer(address) as peer:
        first.work(peer)
        if killed:
            wait(lambda: is_written(own, first.group), (), "offsets are written", _WRITTEN_S)
            bursts.append(Burst(peer, "first_burst"))
            process.kill()
    place.mkdir()
    own.rename(theirs)

    with turn():
        cluster = up(Plan(release=release, settings=SETTINGS), place)
        try:
            broker = cluster.member("broker-a")
            with first.peer(broker.address) as peer:
                first.is_kept(peer)
                for burst in bursts:
                    burst.is_kept(peer)
                first.goes_on(peer)
                second.work(peer)
                if killed:
                    wait(lambda: is_written(theirs, second.group), (), "offsets are written", _WRITTEN_S)
                    bursts.append(Burst(peer, "second_burst"))
                    process_of_broker = broker.process()
                    assert process_of_broker is not None
                    process_of_broker.kill()
                    process_of_broker.wait(_ENDS_S)
        finally:
            cluster.down()
    is_sound(mqctl, theirs, killed=killed)

    theirs.rename(own)
    with embedded(release, data) as (_, address), first.peer(address) as peer:
        first.is_kept(peer)
        second.is_kept(peer)
        for burst in bursts:
            burst.is_kept(peer)
        second.goes_on(peer)
    is_sound(mqctl, own, killed=False)
