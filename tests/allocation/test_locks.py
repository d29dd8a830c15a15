"""Lock states from what instances say."""

from __future__ import annotations

import pytest

from mqctl.allocation.locks import LockState, queue_locks
from mqctl.allocation.observed import InstanceShare, QueueOwner, TopicAllocation
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue
from tests.each import each

NOW = 1_795_218_000_000
QUEUE = MessageQueue("T", "a", 0)


def held(**parts: object) -> HeldQueue:
    own = {"queue": QUEUE, "commit_offset": 5, "locked": True, "last_lock_time_ms": NOW - 5_000}
    return HeldQueue(**{**own, "last_consume_time_ms": NOW - 1_000, **parts})  # type: ignore[arg-type]


def topic(*clients: str, expected: tuple[str, ...] = ("A",)) -> TopicAllocation:
    owner = QueueOwner(queue=QUEUE, expected=expected, holders=(), slot=expected, room=None, lag_count=1, marks=())
    shares = tuple(
        InstanceShare(client_id=client, room=None, strategy="AVG", subscribes=True, expected_count=1, held_count=1)
        for client in clients
    )
    return TopicAllocation(topic="T", queues=(owner,), instances=shares, failure=None)


def info(client: str, *queues: HeldQueue) -> RunningInfo:
    return RunningInfo(group="G", client_id=client, queues=queues)


@pytest.mark.parametrize(
    ("running", "state", "free_ms", "waiting"),
    [
        ((info("A", held()),), LockState.HELD, NOW + 55_000, ()),
        ((info("A", held(last_lock_time_ms=NOW - 40_000)),), LockState.EXPIRED, NOW + 20_000, ()),
        ((info("A", held(transaction_count=1, last_consume_time_ms=NOW - 61_000)),), LockState.HUNG, None, ()),
        ((info("A", held(transaction_count=1)),), LockState.HELD, NOW + 55_000, ()),
        ((info("B", held(dropped=True, try_unlock_count=2)), info("A")), LockState.HUNG, None, ("A",)),
        ((info("A", held()), info("B", held())), LockState.SPLIT, None, ()),
        ((info("A", held(locked=False)),), LockState.WAITING, None, ("A",)),
        ((info("A"),), LockState.WAITING, None, ("A",)),
    ],
    ids=["held", "expired", "listener hangs", "listener works", "cannot let go", "split", "refused", "dead owner"],
)
def test_the_state_of_a_lock(
    running: tuple[RunningInfo, ...], state: LockState, free_ms: int | None, waiting: tuple[str, ...]
) -> None:
    (lock,) = queue_locks([topic(*(item.client_id for item in running))], running, now_ms=NOW)
    assert (lock.state, lock.free_time_ms, lock.waiting) == (state, free_ms, waiting)
    assert bool(lock.note) == (state is not LockState.HELD)


def test_an_instance_that_does_not_tell_makes_it_unknown_and_one_that_is_not_there_nobody_s() -> None:
    (unknown,) = queue_locks([topic("A", "silent", expected=("silent",))], [info("A")], now_ms=NOW)
    assert (unknown.state, unknown.free_time_ms, "silent" in unknown.note) == (LockState.UNKNOWN, None, True)
    (nobody,) = queue_locks([topic("A", expected=())], [info("A")], now_ms=NOW)
    assert nobody.state is LockState.NOBODY


@each(
    "parts, scale, state, free_ms, idle_ms",
    [
        ({"last_lock_time_ms": NOW - 30_000}, 1, LockState.HELD, NOW + 30_000, None),
        ({"last_lock_time_ms": NOW - 30_001}, 1, LockState.EXPIRED, NOW + 29_999, None),
        ({"last_lock_time_ms": NOW - 3_000}, 10, LockState.HELD, NOW + 3_000, None),
        ({"last_lock_time_ms": NOW - 3_001}, 10, LockState.EXPIRED, NOW + 2_999, None),
        ({"last_lock_time_ms": 0}, 1, LockState.EXPIRED, None, None),
        ({"transaction_count": 1, "last_consume_time_ms": NOW - 60_000}, 1, LockState.HELD, NOW + 55_000, 60_000),
        ({"transaction_count": 1, "last_consume_time_ms": NOW - 60_001}, 1, LockState.HUNG, None, 60_001),
        ({"transaction_count": 1, "last_consume_time_ms": NOW - 6_001}, 10, LockState.HUNG, None, 6_001),
        ({"transaction_count": 0, "last_consume_time_ms": NOW - 60_001}, 1, LockState.HELD, NOW + 55_000, None),
        ({"dropped": True}, 1, LockState.HELD, NOW + 55_000, None),
        ({"dropped": True, "try_unlock_count": 1}, 1, LockState.HUNG, None, None),
        ({"try_unlock_count": 1}, 1, LockState.HELD, NOW + 55_000, None),
    ],
)
def test_the_last_moment_of_each_state(
    parts: dict[str, int], scale: float, state: LockState, free_ms: int | None, idle_ms: int | None
) -> None:
    (lock,) = queue_locks([topic("A")], [info("A", held(**parts))], now_ms=NOW, time_scale=scale)
    assert (lock.state, lock.free_time_ms, lock.idle_ms) == (state, free_ms, idle_ms)
    assert (lock.queue, lock.holders, lock.waiting) == (QUEUE, ("A",), ())
    assert lock.last_lock_time_ms == (parts.get("last_lock_time_ms", NOW - 5_000) or None)


def test_how_long_a_listener_may_take_is_asked_for() -> None:
    slow = [info("A", held(transaction_count=3, last_consume_time_ms=NOW - 90_000, last_lock_time_ms=NOW - 1))]
    for hung_ms, scale, state in (
        (89_999, 1, LockState.HUNG),
        (90_000, 1, LockState.HELD),
        (900_000, 10, LockState.HELD),
        (899_990, 10, LockState.HUNG),
    ):
        (lock,) = queue_locks([topic("A")], slow, now_ms=NOW, hung_ms=hung_ms, time_scale=scale)
        assert lock.state is state, hung_ms


def test_notes_name_their_numbers() -> None:
    def note(*running: RunningInfo, scale: float = 1.0) -> str:
        (lock,) = queue_locks([topic("A")], running, now_ms=NOW, time_scale=scale)
        return lock.note

    assert "3 messages" in note(info("A", held(transaction_count=3, last_consume_time_ms=0)))
    assert "2 times" in note(info("A", held(dropped=True, try_unlock_count=2)))
    assert "for 60 s" in note(info("A"))
    assert "for 1.5 s" in note(info("A"), scale=40)


def test_who_waits_is_known_of_those_that_tell() -> None:
    both = topic("A", "B", "C", expected=("B", "A"))
    (split,) = queue_locks([both], [info("A", held()), info("C", held())], now_ms=NOW)
    assert (split.state, split.holders, split.waiting) == (LockState.SPLIT, ("A", "C"), ())
    (known,) = queue_locks([both], [info("C", held()), info("B"), info("A")], now_ms=NOW)
    assert (known.state, known.holders, known.waiting) == (LockState.HELD, ("C",), ("A", "B"))
    (silent,) = queue_locks([both], [info("C"), info("B")], now_ms=NOW)
    assert (silent.state, silent.waiting, silent.last_lock_time_ms) == (LockState.UNKNOWN, ("B",), None)
    other = held(queue=MessageQueue("T", "a", 1))
    (elsewhere,) = queue_locks([topic("A")], [info("A", other)], now_ms=NOW)
    assert elsewhere.state is LockState.WAITING
