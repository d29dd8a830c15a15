"""What rounds with timer messages have found, each by itself: all of them come once, and none that was recalled."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.clock import VirtualClock
from embedded_broker.delay.timer_files import TimerFiles
from embedded_broker.delay.timer_records import RECORD, TimerRecord
from embedded_broker.delay.timers import Timers
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH
from mqctl.model.damage import DamageCode, DamageGrade
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import RecallMessage
from mqctl.store.directory import StoreDirectory
from mqctl.store.layouts import TIMER_CHECK
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability import disks
from tests.reliability.faulty import faulty_files

SECOND = 1_000
PER_FILE = 4
SETTINGS = {**disks.SETTINGS, "mappedFileSizeTimerLog": str(PER_FILE * 52 + 16), "timerRollWindowSlot": "8"}


@contextmanager
def cluster_at(root: Path, flush: str = SYNC_FLUSH, **settings: str) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(
        virtual_time=True, version="5.3.3", data_dir=root, settings={**SETTINGS, "flushDiskType": flush, **settings}
    ) as cluster:
        cluster.advance(SECOND - cluster.now_ms() % SECOND)
        yield cluster


def timed(cluster: EmbeddedCluster, number: int, delay_ms: int) -> str:
    """Sends a timer message; returns what recalls it, nothing when it was refused."""
    with Peer(cluster.broker().address) as peer:
        request = send("T", properties={"TIMER_DELAY_MS": str(delay_ms), "UNIQ_KEY": f"K{number}"})
        answer = peer.call(request, b"%d" % number)
    return (answer.ext("recallHandle") or "") if answer.code == 0 else ""


def recall(cluster: EmbeddedCluster, handle: str) -> int:
    with Peer(cluster.broker().address) as peer:
        return peer.call(RecallMessage(topic="T", recall_handle=handle, producer_group="GP")).code


def came(cluster: EmbeddedCluster) -> list[int]:
    numbers: list[int] = []
    with Peer(cluster.broker().address) as peer:
        while (answer := peer.call(pull("T", len(numbers)))).code == 0:
            numbers += [int(message.body) for message in decode_messages(answer.body)]
    return sorted(numbers)


def damages(cluster: EmbeddedCluster) -> list[DamageCode]:
    """What is wrong with the store of a broker that was stopped."""
    cluster.broker().stop()
    damaged = verify(StoreDirectory.open(cluster.broker().store)).graded(DamageGrade.DAMAGE)
    return [damage.code for damage in damaged]


@pytest.mark.parametrize("flush", [SYNC_FLUSH, ASYNC_FLUSH])
def test_what_a_checkpoint_vouches_for_is_on_the_disk(flush: str, tmp_path: Path) -> None:
    """The checkpoint survived a power failure that took records and slots: the messages were never delivered.

    A slot that survived without its records hid those that came into it later.
    """
    for seed in (0, 5, 9):
        root = tmp_path / str(seed)
        root.mkdir()
        with faulty_files(root, Random(seed)) as files, cluster_at(root, flush) as cluster:
            for number in range(9):
                assert timed(cluster, number, (2 + number % 3) * 3 * SECOND)
                cluster.advance(SECOND // 2)
            if flush == ASYNC_FLUSH:
                cluster.broker().on_loop(lambda broker: broker.storage.sync_log())
            cluster.broker().kill()
            files.lose_power(0.5)
            cluster.broker().start()
            for number in range(9, 18):
                assert timed(cluster, number, (2 + number % 3) * 3 * SECOND)
            cluster.advance(25 * SECOND)
            assert came(cluster) == list(range(18))
            assert damages(cluster) == []


@pytest.mark.parametrize(("number", "afters"), [(errno.ENOSPC, (17, 26, 35)), (errno.EIO, (22, 33))])
def test_a_disk_that_fails_at_a_write_loses_and_repeats_nothing(
    number: int, afters: tuple[int, ...], tmp_path: Path
) -> None:
    """Half a slot hid the messages in it; a filler that could not be written cut the chain of its slot."""
    for after in afters:
        root = tmp_path / str(after)
        root.mkdir()
        with faulty_files(root, Random(after)) as files, cluster_at(root) as cluster:
            sent = [one for one in range(10) if timed(cluster, one, 9 * SECOND)]
            cluster.advance(600)
            files.fail_after(after, number)
            sent += [one for one in range(10, 20) if timed(cluster, one, 8 * SECOND + 300)]
            cluster.advance(3 * SECOND)
            files.heal()
            cluster.advance(20 * SECOND)
            assert set(came(cluster)) >= set(sent)
            assert len(came(cluster)) == len(set(came(cluster)))
            assert damages(cluster) == []


def test_a_failed_sync_is_made_up_for(tmp_path: Path) -> None:
    """What a sync dropped is written again before the checkpoint says that it is there."""
    for after in (1, 5, 9):
        root = tmp_path / str(after)
        root.mkdir()
        with faulty_files(root, Random(after)) as files, cluster_at(root) as cluster:
            for number in range(6):
                timed(cluster, number, 20 * SECOND)
            files.fail_after(after, errno.EIO, what="sync")
            cluster.advance(2 * SECOND)
            files.heal()
            cluster.advance(3 * SECOND)
            cluster.broker().kill()
            files.lose_power(0.5)
            cluster.broker().start()
            cluster.advance(25 * SECOND)
            assert came(cluster) == list(range(6))


def test_an_acknowledged_recall_survives_a_power_failure(tmp_path: Path) -> None:
    with faulty_files(tmp_path, Random(1)) as files, cluster_at(tmp_path) as cluster:
        handle = timed(cluster, 1, 9 * SECOND)
        timed(cluster, 2, 9 * SECOND)
        assert recall(cluster, handle) == 0
        cluster.broker().kill()
        files.lose_power(0.0)
        cluster.broker().start()
        cluster.advance(12 * SECOND)
        assert came(cluster) == [2]


def test_a_recall_that_is_not_on_the_disk_is_not_acknowledged(tmp_path: Path) -> None:
    with faulty_files(tmp_path, Random(1)) as files, cluster_at(tmp_path) as cluster:
        first, second = (timed(cluster, number, 9 * SECOND) for number in range(2))
        files.fail_after(0, errno.EIO, what="sync")
        assert recall(cluster, first) != 0
        files.fail_after(0, errno.ENOSPC)
        assert recall(cluster, second) != 0


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_recalled_message_stays_away_when_the_broker_was_down_at_its_time(end: str, tmp_path: Path) -> None:
    """Rolled too late it went past the marker, which hung in a later slot or was rolled itself."""
    with cluster_at(tmp_path) as cluster:
        handle = timed(cluster, 1, 20 * SECOND)
        timed(cluster, 2, 20 * SECOND)
        cluster.advance(3 * SECOND)
        assert recall(cluster, handle) == 0
        cluster.advance(2 * SECOND)
        cluster.broker().kill() if end == "kill" else cluster.broker().stop()
        cluster.advance(60 * SECOND)
        cluster.broker().start()
        cluster.advance(5 * SECOND)
        assert came(cluster) == [2]
        assert damages(cluster) == []


def test_a_broker_that_stops_within_a_slot_empties_it_first(tmp_path: Path) -> None:
    with cluster_at(tmp_path) as cluster:
        with Peer(cluster.broker().address) as peer:
            for number in range(200):
                assert peer.call(send("T", properties={"TIMER_DELAY_MS": "3000"}), b"%d" % number).code == 0
        cluster.advance(SECOND)

        def begin(broker: Broker) -> int:
            """Lets the slot fall due without anything else, and takes the first slice of it."""
            assert isinstance(broker.clock, VirtualClock)
            assert broker.timers is not None
            broker.clock._now_ms += 4 * SECOND
            broker.timers._turn()
            return broker.storage.max_offset("T", 0)

        assert 0 < cluster.broker().on_loop(begin) < 200
        cluster.broker().stop()
        cluster.broker().start()
        cluster.advance(5 * SECOND)
        assert came(cluster) == list(range(200))


def test_half_a_record_at_the_end_of_the_timer_log_is_none(tmp_path: Path) -> None:
    """A full disk leaves the begin of a record, whose offset then leads to another message."""
    with cluster_at(tmp_path) as cluster:
        for number in range(2):
            timed(cluster, number, 5 * SECOND)
        cluster.advance(SECOND)
        cluster.broker().kill()
        path = cluster.broker().store / "timerlog" / f"{0:020d}"
        data = bytearray(path.read_bytes())
        data[104:156] = data[52:87] + bytes(17)
        path.write_bytes(data)
        cluster.broker().start()
        timed(cluster, 2, 5 * SECOND)
        cluster.advance(9 * SECOND)
        assert came(cluster) == [0, 1, 2]
        assert damages(cluster) == []


def test_a_record_of_two_tries_at_one_place_is_none(tmp_path: Path) -> None:
    """The second one ended within its number of milliseconds: it hung in a slot that was emptied already."""
    with cluster_at(tmp_path) as cluster:
        cluster.advance(SECOND)
        cluster.broker().kill()
        check = cluster.broker().store / "config" / "timercheck"
        before = check.read_bytes()
        cluster.broker().start()
        timed(cluster, 0, 5 * SECOND)
        cluster.advance(SECOND)
        cluster.broker().kill()
        check.write_bytes(before)
        path = cluster.broker().store / "timerlog" / f"{0:020d}"
        data = bytearray(path.read_bytes())
        record = TimerRecord(*RECORD.unpack_from(data))
        data[:52] = RECORD.pack(*record._replace(delayed_ms=-30_024))
        path.write_bytes(data)
        cluster.broker().start()
        cluster.advance(9 * SECOND)
        assert came(cluster) == [0]
        assert damages(cluster) == []


def _nothing_is_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TimerFiles, "sync", lambda self: self._written.clear())


def _the_topic_is_passed_over(patch: pytest.MonkeyPatch) -> None:
    original = Timers._record
    patch.setattr(
        Timers,
        "_record",
        lambda self, physical, size, now_ms: original(self, physical, size, now_ms) if physical % 3 else None,
    )


def _nothing_is_noted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TimerFiles, "save", lambda self, check, *, durable: None)


def _each_comes_twice(patch: pytest.MonkeyPatch) -> None:
    original = Timers._deliver

    def deliver(self: Timers, record: object) -> None:
        original(self, record)  # type: ignore[arg-type]
        original(self, record)  # type: ignore[arg-type]

    patch.setattr(Timers, "_deliver", deliver)


@pytest.mark.parametrize("plant", [_nothing_is_synced, _the_topic_is_passed_over, _nothing_is_noted, _each_comes_twice])
def test_the_rounds_see_what_is_lost_or_comes_outside_of_its_window(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within some rounds: a power failure may take nothing of what was left out, and flushing has its own thread."""
    plant(monkeypatch)
    assert any("time" in problem for seed in range(4, 20) for problem in disks.run(3, seed).problems)


# The checks of timer files


def _waiting_store(root: Path) -> Path:
    """A store that was stopped with ten messages in the wheel: two log files full, and half of a third."""
    with cluster_at(root) as cluster:
        for number in range(10):
            timed(cluster, number, 3_600 * SECOND)
        cluster.advance(2 * SECOND)
        cluster.broker().stop()
        return cluster.broker().store


def _broken(store: Path, what: str) -> None:
    check, log = store / "config" / "timercheck", sorted((store / "timerlog").iterdir())
    fields = list(TIMER_CHECK.unpack(check.read_bytes()[: TIMER_CHECK.size]))
    match what:
        case "gap":
            log[1].unlink()
        case "check":
            fields[1] += 520
        case "queue":
            fields[2] += 5
        case "slot" | "slot of late records":
            (store / "timerwheel").write_bytes(b"")
            fields[1] = 0 if what == "slot of late records" else fields[1]
        case "record":
            data = bytearray(log[0].read_bytes())
            data[52 + 35] ^= 1
            log[0].write_bytes(data)
        case "log":
            for path in log:
                path.unlink()
    check.write_bytes(TIMER_CHECK.pack(*fields).ljust(4_096, b"\0"))


@pytest.mark.parametrize(
    ("what", "codes"),
    [
        ("nothing", set()),
        ("gap", {DamageCode.TIMER_LOG_GAP}),
        ("check", {DamageCode.TIMER_CHECK}),
        ("queue", {DamageCode.TIMER_CHECK}),
        ("slot", {DamageCode.TIMER_RECORD_UNLED}),
        ("slot of late records", set()),
        ("record", {DamageCode.TIMER_RECORD_DANGLING, DamageCode.TIMER_MESSAGE_MISSING}),
        ("log", {DamageCode.TIMER_SLOT, DamageCode.TIMER_MESSAGE_MISSING}),
    ],
)
def test_the_timer_files_are_verified(what: str, codes: set[DamageCode], tmp_path: Path) -> None:
    store = _waiting_store(tmp_path)
    _broken(store, what)
    damage_seen = verify(StoreDirectory.open(store)).graded(DamageGrade.DAMAGE)
    assert {damage.code for damage in damage_seen} == codes
