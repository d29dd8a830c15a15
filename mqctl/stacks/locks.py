"""Who holds what a thread waits for, and circles of waiting.

A Java dump tells the owner of every monitor, and with `-l` that of every lock. Where a tool tells none, a circle can
only be suspected: see `mqctl.stacks.suspicion`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.model.dump import LockUse, StackDump, StackThread


def owners(dump: StackDump) -> dict[str, StackThread]:
    """Returns the thread that holds each lock, by the lock's id."""
    return {lock.id: thread for thread in dump.threads for lock in thread.holds}


def owner_of(thread: StackThread, held_by: Mapping[str, StackThread]) -> StackThread | None:
    """Returns the thread that holds what `thread` waits for; None when it waits for none, or nobody knows."""
    lock = thread.waiting_for
    if lock is None or lock.use is not LockUse.WAITS_FOR:
        return None
    owner = held_by.get(lock.id)
    return None if owner is thread else owner


def root_of(thread: StackThread, held_by: Mapping[str, StackThread]) -> StackThread | None:
    """Returns the last thread in the chain of owners: the one that holds everybody up; None within a circle."""
    seen = {id(thread)}
    current = owner_of(thread, held_by)
    while current is not None:
        if id(current) in seen:
            return None
        seen.add(id(current))
        following = owner_of(current, held_by)
        if following is None:
            return current
        current = following
    return None


def circles(threads: Sequence[StackThread], held_by: Mapping[str, StackThread]) -> list[tuple[str, ...]]:
    """Returns the circles of threads that wait for each other, by the locks that the dump tells."""
    by_members: dict[frozenset[int], tuple[str, ...]] = {}
    finished: set[int] = set()
    for start in threads:
        chain: list[StackThread] = []
        places: dict[int, int] = {}
        current: StackThread | None = start
        while current is not None and id(current) not in finished and id(current) not in places:
            places[id(current)] = len(chain)
            chain.append(current)
            current = owner_of(current, held_by)
        if current is not None and id(current) in places:
            circle = chain[places[id(current)] :]
            by_members[frozenset(map(id, circle))] = tuple(thread.name for thread in circle)
        finished.update(places)
    return list(by_members.values())
