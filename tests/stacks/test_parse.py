"""Recorded dumps are read whole; damaged ones in part, with a word about it, and never with an exception."""

from __future__ import annotations

import io
from datetime import timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.dump import Deadlock, DumpTool, LockUse, StackDump, StackThread, ThreadState
from mqctl.stacks.collecting import DumpLimits
from mqctl.stacks.parse import read_dumps, read_stream
from tests.each import each
from tests.stacks.samples import DUMPS, FILES, dumps, text

EXPECTED = {
    "java17-jcmd.txt": (DumpTool.JSTACK, [57]),
    "java17-jstack-l.txt": (DumpTool.JSTACK, [57, 57]),
    "java17-remote.txt": (DumpTool.REMOTE, [43]),
    "python311-py-spy-native.txt": (DumpTool.PY_SPY, [24]),
    "python311-py-spy.json": (DumpTool.PY_SPY, [24, 24]),
    "python311-py-spy.txt": (DumpTool.PY_SPY, [24]),
    "python311-remote.txt": (DumpTool.REMOTE, [24]),
}


def _thread(dump: StackDump, name: str) -> StackThread:
    (parsed_thread,) = (thread for thread in dump.threads if thread.name == name)
    return parsed_thread


@each("name", FILES)
def test_every_recorded_dump_is_read_whole(name: str) -> None:
    read = dumps(name)
    tool, counts = EXPECTED[name]
    assert {dump.tool for dump in read} == {tool}
    assert [len(dump.threads) for dump in read] == counts
    assert not any(dump.truncated or dump.notes for dump in read)
    heads = {thread.name for thread in read[0].threads}
    assert {"ConsumeMessageThread_idle_1", "ConsumeMessageThread_deadlock_2"} <= heads


def test_a_java_thread_has_all_that_its_dump_tells() -> None:
    dump = dumps("java17-jstack-l.txt")[1]
    thread = _thread(dump, "ConsumeMessageThread_deadlock_1")
    assert thread.state is ThreadState.BLOCKED
    assert thread.state_text == "BLOCKED (on object monitor)"
    assert thread.daemon is True
    assert thread.native_id is not None
    assert thread.cpu_ms is not None
    assert 0 < thread.cpu_ms < 50
    top = thread.frames[0]
    assert (top.module, top.function, top.file, top.line) == ("shop.orders.Tools", "cross", "Tools.java", 83)
    assert [lock.use for lock in top.locks] == [LockUse.WAITS_FOR, LockUse.HOLDS]
    assert str(thread.frames[-1]) == "java.lang.Thread.run(Thread.java:840)"
    other = _thread(dump, "ConsumeMessageThread_deadlock_2")
    assert thread.waiting_for is not None
    assert thread.waiting_for.id == other.holds[0].id
    assert dump.deadlocks == (Deadlock(threads=("ConsumeMessageThread_deadlock_1", "ConsumeMessageThread_deadlock_2")),)
    assert dump.pid is not None
    assert dump.runtime is not None
    assert dump.runtime.startswith("OpenJDK 64-Bit Server VM (17.0.15")


def test_the_owner_of_a_synchronizer_is_known_from_jstack_with_l() -> None:
    dump = dumps("java17-jstack-l.txt")[0]
    owner = _thread(dump, "ConsumeMessageThread_lockowner_1")
    waiting = _thread(dump, "ConsumeMessageThread_lock_1")
    assert waiting.waiting_for is not None
    assert waiting.waiting_for.use is LockUse.WAITS_FOR
    assert waiting.waiting_for.id in {lock.id for lock in owner.holds}


def test_clock_times_are_those_of_the_zone() -> None:
    here = dumps("java17-jcmd.txt")[0].taken_at_ms
    there = read_dumps(text("java17-jcmd.txt"), source="x", zone=timezone(timedelta(hours=8)))[0].taken_at_ms
    assert here is not None
    assert there == here - 8 * 3_600_000


def test_a_python_thread_has_its_modules_whatever_wrote_it() -> None:
    for name in ("python311-py-spy.txt", "python311-py-spy.json", "python311-py-spy-native.txt"):
        frames = _thread(dumps(name)[0], "ConsumeMessageThread_http_1").frames
        names = [f"{frame.module}.{frame.function}" for frame in frames if frame.module]
        assert names[1] == "http.client.HTTPResponse._read_status", name
        assert "mqctl.client.workers.Workers._work" in names, name  # the module as it was called when this was recorded
        assert "tests.stacks.python_consumers.http_post" in names, name
    native = _thread(dumps("python311-py-spy-native.txt")[0], "ConsumeMessageThread_sleep_1").frames
    assert [frame.function for frame in native[:2]] == ["clock_nanosleep", "time_sleep"]
    assert all(frame.native for frame in native[:2])


def test_our_own_client_tells_what_the_innermost_call_calls() -> None:
    dump = dumps("python311-remote.txt")[0]
    sleeping = _thread(dump, "ConsumeMessageThread_sleep_1")
    assert (sleeping.frames[0].code, sleeping.state) == ("time.sleep()", ThreadState.WAITING)
    assert _thread(dump, "ConsumeMessageThread_lock_1").frames[0].code == "with LOCK"
    assert _thread(dump, "ConsumeMessageThread_cpu_1").frames[0].code is None


def test_dumps_of_different_tools_in_one_text_are_told_apart() -> None:
    joined = "\n".join(text(name) for name in FILES)
    read = read_dumps("pasted from a chat:\n" + joined + "\nthat is all\n", source="paste")
    assert [(dump.tool, len(dump.threads)) for dump in read] == [
        (tool, count) for tool, counts in (EXPECTED[name] for name in FILES) for count in counts
    ]


def test_two_dumps_without_heads_are_told_apart_by_their_threads() -> None:
    once = text("java17-remote.txt")
    assert [len(dump.threads) for dump in read_dumps(once + once, source="x")] == [43, 43]


@each("name", FILES)
def test_windows_line_ends_and_utf_16_read_the_same(name: str) -> None:
    plain = dumps(name)
    windows = text(name).replace("\n", "\r\n")
    assert read_dumps(windows, source=name) == plain
    for encoding in ("utf-16", "utf-16-le", "utf-8-sig"):
        stream = io.BytesIO(windows.encode(encoding))
        assert read_stream(stream, source=name) == plain, encoding


@each("name", FILES)
def test_a_cut_dump_is_told_as_such(name: str) -> None:
    whole = text(name)
    read = read_dumps(whole[: len(whole) * 2 // 5] + "x", source=name)
    assert read, name
    assert read[-1].truncated, name


def test_a_thread_named_with_more_than_forty_characters_is_read() -> None:
    name = "ConsumeMessageThread_please_rename_unique_group_name_4_12"
    lines = f"{name}TID: 27 STATE: WAITING\n{name}java.lang.Object.wait(Native Method)\n\n"
    (dump,) = read_dumps(lines, source="x")
    assert [(thread.name, len(thread.frames)) for thread in dump.threads] == [(name, 1)]


OTHER_HEADS = {
    "jdk 8": '"ConsumeMessageThread_G_1" #31 prio=5 os_prio=0 tid=0x7f1 nid=0x4bc waiting on condition [0x00007f2]\n'
    "   java.lang.Thread.State: TIMED_WAITING (sleeping)\n",
    "jdk 21": '"ConsumeMessageThread_G_1" #31 [1212] prio=5 os_prio=0 cpu=1.20ms elapsed=9.01s tid=0x00007f1 nid=1212 '
    "waiting on condition  [0x00007f2]\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n",
    "ThreadInfo": '"ConsumeMessageThread_G_1" Id=31 TIMED_WAITING\n',
    "dump_to_file": '#31 "ConsumeMessageThread_G_1" TIMED_WAITING 2026-11-21T08:00:00Z\n',
    "VisualVM": '"ConsumeMessageThread_G_1" - Thread t@31\n   java.lang.Thread.State: TIMED_WAITING\n',
    "actuator": '"ConsumeMessageThread_G_1" #31\n   java.lang.Thread.State: TIMED_WAITING\n',
    "Arthas": '"ConsumeMessageThread_G_1" Id=31 cpuUsage=0.2% deltaTime=1ms time=9ms TIMED_WAITING\n',
}


@pytest.mark.parametrize("head", OTHER_HEADS.values(), ids=OTHER_HEADS.keys())
def test_heads_of_other_releases_and_tools(head: str) -> None:
    calls = "    at java.lang.Thread.sleep(Native Method)\n    at a.B.c(B.java:7)\n    - locked a.B@39faacaf\n"
    (dump,) = read_dumps(f"{head}{calls}\n", source="x")
    (thread,) = dump.threads
    assert (thread.name, thread.id, thread.state) == ("ConsumeMessageThread_G_1", 31, ThreadState.TIMED_WAITING)
    assert (len(thread.frames), thread.native_id) == (2, 1212 if "nid" in head else None)
    assert [(lock.id, lock.kind) for lock in thread.holds] == [("39faacaf", "a.B")]


def test_the_file_that_jcmd_writes_has_no_states_in_its_first_releases() -> None:
    lines = [
        "4711\n2026-11-21T08:00:00Z\n21.0.4\n",
        '#31 "ConsumeMessageThread_G_1"',
        "      java.base/java.lang.Thread.sleep0(Native Method)",
        "      a.B.c(B.java:7)\n",
        '#32 "" virtual',
        "      java.base/java.lang.VirtualThread.park(VirtualThread.java:582)\n",
    ]
    text = "\n".join(lines)
    (dump,) = read_dumps(text, source="x")
    assert [(thread.id, len(thread.frames), thread.state) for thread in dump.threads] == [
        (31, 2, ThreadState.UNKNOWN),
        (32, 1, ThreadState.UNKNOWN),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "- waiting to lock <0x0fa1> (a a.B)",
        "- waiting to lock a.B@fa1",
        '- waiting to lock <fa1> (a a.B) owned by "main" t@1',
        "-  waiting to lock a.B@fa1",
    ],
)
def test_locks_as_other_tools_write_them(line: str) -> None:
    (dump,) = read_dumps(f'"t" #1\n   java.lang.Thread.State: BLOCKED\n\tat a.B.c(B.java:7)\n\t{line}\n', source="x")
    wanted = dump.threads[0].waiting_for
    assert wanted is not None
    assert (wanted.use, wanted.kind, wanted.id.removeprefix("0x0")) == (LockUse.WAITS_FOR, "a.B", "fa1")


def test_what_people_write_beside_a_pasted_call_is_passed_over() -> None:
    text = '"t" #1 prio=5 nid=0x1\n\tat a.B.c(B.java:7)   <- waits for the database\n\tat a.B.d(...)\n'
    (dump,) = read_dumps(text, source="x")
    assert [(frame.function, frame.line) for frame in dump.threads[0].frames] == [("c", 7), ("d", None)]


@pytest.mark.parametrize("word", ["等待中", "EN ATTENTE", "WARTEND"])
def test_a_localized_state_is_kept_as_words_and_not_guessed(word: str) -> None:
    java = text("java17-jcmd.txt").replace("State: TIMED_WAITING (sleeping)", f"State：{word}")
    (dump,) = read_dumps(java, source="x")
    thread = _thread(dump, "ConsumeMessageThread_sleep_1")
    assert (thread.state, thread.state_text) == (ThreadState.UNKNOWN, word)
    remote = f"{'t':<40}TID: 1 STATE: {word}\n{'t':<40}a.B.c(B.java:1)\n\n"
    (other,) = read_dumps(remote, source="x")
    assert other.threads[0].state is ThreadState.UNKNOWN
    assert len(other.threads[0].frames) == 1


def test_limits_give_a_part_that_says_so() -> None:
    whole = text("java17-jcmd.txt")
    (dump,) = read_dumps(whole, source="x", limits=DumpLimits(thread_count=10))
    assert len(dump.threads) == 10
    assert dump.truncated
    assert dump.notes == ("only the first 10 threads were read", "the end of the dump is missing")
    (dump,) = read_dumps(whole, source="x", limits=DumpLimits(thread_frame_count=3))
    assert max(len(thread.frames) for thread in dump.threads) == 3
    assert dump.truncated
    (dump,) = read_dumps(whole, source="x", limits=DumpLimits(distinct_frame_count=20))
    assert dump.truncated


def test_text_without_threads_gives_nothing() -> None:
    for nothing in ("", "\n", "hello", "[]", "[\n]", "[1, 2]", '{"a": 1}', "Full thread dump\n", "Process 12: x\n"):
        assert read_dumps(nothing, source="x") == []


def test_binary_garbage_gives_nothing() -> None:
    stream = io.BytesIO(bytes(range(256)) * 4_096)
    assert read_stream(stream, source="x") == []


def test_json_that_breaks_off_does_not_swallow_what_follows() -> None:
    array = text("python311-py-spy.json")
    read = read_dumps(array[:5_000] + "\n" + text("java17-jcmd.txt"), source="x")
    assert [(dump.tool, dump.truncated) for dump in read] == [(DumpTool.PY_SPY, True), (DumpTool.JSTACK, False)]


RECORDED = [(DUMPS / name).read_bytes()[:20_000] for name in FILES]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Pieces of recorded dumps, cut, doubled, overwritten and mixed."""
    parts: list[bytes] = []
    for _ in range(draw(st.integers(1, 4))):
        data = bytearray(draw(st.sampled_from(RECORDED)))
        begin = draw(st.integers(0, len(data)))
        data = data[begin : begin + draw(st.integers(0, 4_000))]
        for _ in range(draw(st.integers(0, 5))):
            at = draw(st.integers(0, len(data)))
            data[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=8))
        parts.append(bytes(data))
    return b"".join(parts)


@given(damaged())
@settings(max_examples=150, deadline=None)
def test_damaged_dumps_never_raise(data: bytes) -> None:
    from_stream = read_stream(io.BytesIO(data), source="x", limits=DumpLimits(distinct_frame_count=300))
    for dump in from_stream:
        assert dump.threads
    assert all(isinstance(thread.state, ThreadState) for dump in from_stream for thread in dump.threads)


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_any_text_never_raises(anything: str) -> None:
    head = '"t" #1 prio=5 tid=0x1 nid=0x2 runnable\n\tat '
    for start in ("", head, "[\n  {", 'Thread 1 (idle): "', "x TID: 1 STATE: "):
        read_dumps(start + anything, source="x")


def test_a_native_id_with_leading_zeros_is_a_decimal_number() -> None:
    head = '"t" #1 prio=5 os_prio=0 cpu=1.00ms elapsed=1.00s tid=0x1 nid={} runnable  [0x2]\n'
    head += "   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(B.java:1)\n"
    ids = [read_dumps(head.format(text), source="x")[0].threads[0].native_id for text in ("01", "0x1f", "4711")]
    assert ids == [1, 31, 4711]
