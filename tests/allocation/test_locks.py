"""Lock states from what instances say."""

from __future__ import annotations

import pytest

from mqctl.allocation.locks import LockState, queue_locks
from mqctl.allocation.observed import InstanceShare, QueueOwner, TopicAllocation
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue

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
