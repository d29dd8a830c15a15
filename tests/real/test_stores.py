"""Stores go both ways: what the embedded broker wrote, a real one of the same release goes on with, and the reverse.

Each case is a chain of three brokers, embedded and real by turns. One begins the store and does a round of work; the
next opens it, finishes that round and does another; the last one finishes that. Brokers end tidily or are killed in the
middle of a burst of sends. Chains that a real broker begins have light queues as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
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
from tests.real.rounds import LIGHT, SETTINGS, Round, all_of

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
Run = Callable[..., Outcome]
_BURST, _ANSWERED = 400, 100
_ENDS_S = 60
_WRITTEN_S = 60.0  # consumer offsets are written down every five seconds, those of delay levels every ten


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
def embedded(release: str, settings: Mapping[str, str], data: Path) -> Iterator[tuple[psutil.Process, str]]:
    """An embedded broker in a process of its own; gives the process and the broker's address."""
    given = [word for name, value in {**SMALL, **settings}.items() for word in ("--set", f"{name}={value}")]
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


@contextmanager
def real(release: str, settings: Mapping[str, str], place: Path) -> Iterator[tuple[psutil.Process, str]]:
    """A real broker; gives its process and its address."""
    with turn():
        cluster = up(Plan(release=release, settings=settings), place)
        try:
            broker = cluster.member("broker-a")
            process = broker.process()
            assert process is not None
            yield process, broker.address
        finally:
            cluster.down()


KINDS = {"embedded": (embedded, "broker-a"), "real": (real, "store-broker-a")}
"""How brokers are started, and where they have their stores."""


def is_written(store: Path, group: str) -> bool:
    """Whether the offsets of a group are in the store's file, and those of delay levels in theirs.

    A real broker that is killed before it first wrote the latter has no such file, which the doctor takes for lost.
    """
    files = (store / "config").glob("*onsumerOffset.json")
    has_group = any(group in file.read_text(errors="replace") for file in files)
    return has_group and (store / "config" / "delayOffset.json").exists()


def is_sound(mqctl: Run, store: Path, *, killed: bool) -> None:
    """`store verify` finds no more than what a kill leaves in any store, the doctor no error; and the end was tidy."""
    assert (store / "abort").exists() == killed
    verified = mqctl("store", "verify", "--store", str(store), "-o", "json").json
    odd = [(item["code"], item["file"]) for item in verified["deviations"] if item["grade"] != "expected"]
    if killed:  # the embedded broker makes its checkpoint at its first flush of all queues, a real one at its start
        odd = [item for item in odd if item != ("missing_part", "checkpoint")]
    diagnosed = mqctl("doctor", "--store", str(store), "-o", "json").json
    wrong = [(item["code"], item["what"]) for item in diagnosed["findings"] if item["severity"] in ("error", "fatal")]
    assert (odd, wrong) == ([], [])


@pytest.mark.parametrize("killed", [False, True], ids=["tidy", "killed"])
@pytest.mark.parametrize("begins", KINDS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_store_goes_from_one_kind_of_broker_to_the_other_and_back(
    release: str, begins: str, killed: bool, tmp_path: Path, mqctl: Run
) -> None:
    require(release)
    has_light = begins == "real"
    settings = {**SETTINGS, **(LIGHT if has_light else {})}
    other = "embedded" if has_light else "real"
    first, second = (Round(name, is_v5(release), has_light=has_light) for name in ("first", "second"))
    store: Path | None = None
    past: list[Round | Burst] = []
    begun: Round | None = None
    for kind, work in ((begins, first), (other, second), (begins, None)):
        start, name = KINDS[kind]
        place = tmp_path / kind
        place.mkdir(exist_ok=True)
        store = place / name if store is None else store.rename(place / name)
        with start(release, settings, place) as (process, address), first.peer(address) as peer:
            for each in past:
                each.is_kept(peer)
            if begun is not None:
                begun.goes_on(peer)
            if work is not None:
                work.work(peer)
                past.append(work)
                begun = work
            if work is not None and killed:
                wait(partial(is_written, store, work.group), (), "offsets are written", _WRITTEN_S)
                past.append(Burst(peer, f"{work.name}_burst"))
                process.kill()
                process.wait(_ENDS_S)
        is_sound(mqctl, store, killed=killed and work is not None)
