"""Several of a kind in one text: dumps, deadlocks, notes and locks, and what belongs to which."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.dump import LockUse, StackDump
from mqctl.stacks.collecting import DumpLimits
from mqctl.stacks.parse import read_dumps
from tests.each import each

MOMENT_MS = 1_795_218_000_000  # 2026-11-20 23:40:00 UTC
CALL = "\tat a.B.c(B.java:7)\n"
END = "JNI global refs: 24, weak refs: 0\n\n"


def thread(name: str, number: int = 1, *lines: str) -> str:
    return f'"{name}" #{number} prio=5 nid=0x{number:x} runnable\n   java.lang.Thread.State: RUNNABLE\n{CALL}' + (
        "".join(f"\t{line}\n" for line in lines) + "\n"
    )


def head(minute: int | None = None, pid: int | None = None, vm: str = "OpenJDK VM (17)") -> str:
    process = f"{pid}:\n" if pid is not None else ""
    moment = f"2026-11-20 23:{40 + minute}:00\n" if minute is not None else ""
    return f"{process}{moment}Full thread dump {vm}:\n\n"


def circle(*names: str, stacks: bool = True, repeated: bool = False) -> str:
    lines = [f'"{name}":\n  waiting to lock monitor 0x1 (object 0x2, a a.B),\n' for name in names]
    lines += [f'  which is held by "{names[0]}"\n', *(lines[:1] if repeated else [])]
    above = "Java stack information for the threads listed above:\n======\n"
    shown = above + "".join(f'"{name}":\n{CALL}\t- locked <0x1> (a a.B)\n' for name in names)
    return f"Found one Java-level deadlock:\n======\n{''.join(lines)}\n{shown if stacks else ''}\n"


def circles_of(dump: StackDump) -> list[tuple[str, ...]]:
    return [deadlock.threads for deadlock in dump.deadlocks]


@given(
    sizes=st.lists(st.integers(1, 4), max_size=4),
    repeated=st.booleans(),
    end=st.sampled_from(
        ["", END, "Found {} deadlocks.\n", END + "Found {} deadlocks.\n", "Found {} deadlocks.\n" + END]
    ),
)
def test_each_deadlock_of_a_dump_has_its_own_threads(sizes: list[int], repeated: bool, end: str) -> None:
    circles = [tuple(f"t-{number}-{row}" for row in range(size)) for number, size in enumerate(sizes)]
    texts = "".join(circle(*names, repeated=repeated) for names in circles)
    (dump,) = read_dumps(head() + thread("t") + texts + end.format(len(sizes)), source="x")
    assert circles_of(dump) == circles


def test_a_deadlock_whose_stacks_are_missing_is_one_of_its_own() -> None:
    """Cut off behind the circle, or pasted without what followed it."""
    for first_stacks, last_stacks in product((True, False), repeat=2):
        texts = circle("a", "b", stacks=first_stacks) + circle("c", "d", stacks=last_stacks)
        (dump,) = read_dumps(head() + thread("t") + texts, source="x")
        assert circles_of(dump) == [("a", "b"), ("c", "d")], (first_stacks, last_stacks)


@given(counts=st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_deadlocks_belong_to_the_dump_they_stand_in(counts: list[int]) -> None:
    texts = [
        head(minute)
        + thread("t")
        + "".join(circle(f"d{minute}-{number}", f"e{minute}-{number}") for number in range(count))
        + f"Found {count} deadlocks.\n"
        + END
        for minute, count in enumerate(counts)
    ]
    read = read_dumps("".join(texts), source="x")
    assert [circles_of(dump) for dump in read] == [
        [(f"d{minute}-{number}", f"e{minute}-{number}") for number in range(count)]
        for minute, count in enumerate(counts)
    ]


def test_moment_process_and_machine_belong_to_the_dump_they_stand_before() -> None:
    """A dump that says none has none of its forerunner's."""
    kinds = ((None, None), (1, None), (None, 4711), (2, 4712))
    for first, second in product(kinds, repeat=2):
        text = head(*first, vm="One VM") + thread("t") + END + head(*second, vm="Other VM") + thread("t") + END
        read = read_dumps(text, source="x", taken_at_ms=5)
        assert [(dump.taken_at_ms, dump.pid, dump.runtime) for dump in read] == [
            (5 if minute is None else MOMENT_MS + minute * 60_000, pid, vm)
            for (minute, pid), vm in ((first, "One VM"), (second, "Other VM"))
        ]
        assert not any(dump.truncated or dump.notes for dump in read)


BAD = "\tat  no call\n"
NOTE = "a call could not be read"
MISSING = "the end of the dump is missing"


def noted(times: int) -> tuple[str, ...]:
    return {0: (), 1: (NOTE,)}.get(times, (f"{NOTE} ({times} times)",))


@given(counts=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=4))
def test_notes_belong_to_the_dump_they_were_made_in_and_are_counted(counts: list[tuple[int, bool]]) -> None:
    texts = [
        head() + thread("t") + thread("u", 2).removesuffix("\n") + BAD * bad + "\n" + (END if whole else "")
        for bad, whole in counts
    ]
    read = read_dumps("".join(texts), source="x")
    assert [dump.notes for dump in read] == [noted(bad) + (() if whole else (MISSING,)) for bad, whole in counts]
    assert [dump.truncated for dump in read] == [not whole for _, whole in counts]


@each("bad", [0, 1, 3])
def test_a_note_made_behind_the_last_dump_joins_those_it_has(bad: int) -> None:
    cut = "only the first 2 threads were read"
    text = head() + thread("t").removesuffix("\n") + BAD * bad + "\n" + thread("u", 2) + END
    behind = "".join(head() + thread("v", 3) + END for _ in range(3))
    (dump,) = read_dumps(text + behind, source="x", limits=DumpLimits(thread_count=2))
    assert dump.notes[: bad > 0] == noted(bad)
    assert [note.partition(" (")[0] for note in dump.notes[bad > 0 :]] == [cut]


def test_a_thread_that_is_there_already_begins_the_next_dump() -> None:
    """Threads are the same where name, number and native number are."""
    same, other_number = thread("t", 1), thread("t", 2)
    for texts, counts in (
        ((same, same), [1, 1]),
        ((same, other_number), [2]),
        ((same, other_number, same, other_number, same), [2, 2, 1]),
    ):
        assert [len(dump.threads) for dump in read_dumps("".join(texts), source="x")] == counts


def monitor(use: str, number: int) -> str:
    return f"- {use} <0x{number:016x}> (a a.B)"


def lock_id(number: int) -> str:
    return f"0x{number:016x}"


def test_a_thread_holds_each_monitor_it_locked_but_the_one_it_waits_for() -> None:
    locked = [monitor("locked", number) for number in (1, 2, 3)]
    for wanted, holds in (
        (None, {1, 2, 3}),
        (monitor("waiting on", 2), {1, 3}),
        (monitor("waiting to lock", 4), {1, 2, 3}),
        (monitor("waiting to re-lock in wait()", 1), {2, 3}),
        (monitor("parking to wait for ", 9), {1, 2, 3}),
    ):
        lines = [*([wanted] if wanted else []), *locked]
        (dump,) = read_dumps(thread("t", 1, *lines), source="x")
        (only,) = dump.threads
        assert {lock.id for lock in only.holds} == {lock_id(number) for number in holds}, wanted
        assert all(lock.use is LockUse.HOLDS for lock in only.holds)
        assert (only.waiting_for is None) == (wanted is None)


def test_the_lock_that_a_thread_wants_is_looked_for_in_its_innermost_eight_calls() -> None:
    for depth in (1, 2, 7, 8, 9):
        calls = [f"at a.B.c{row}(B.java:{row})" for row in range(2, depth + 1)]
        (dump,) = read_dumps(thread("t", 1, *calls, monitor("waiting on", 5), "at a.B.last(B.java:1)"), source="x")
        wanted = dump.threads[0].waiting_for
        assert (wanted.id if wanted else None) == (lock_id(5) if depth <= 8 else None), depth
