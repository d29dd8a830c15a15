"""Several dumps of one process become one report: pools, motion, owners, circles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.model.dump import DumpTool, StackDump, StackFrame, StackThread, ThreadState
from mqctl.stacks.group import Motion, StackGroup, StackReport, report_threads
from mqctl.stacks.names import Role, understand
from mqctl.stacks.normal import normal_name
from mqctl.stacks.rules import StackClass
from tests.each import each
from tests.stacks.samples import dumps


def _one(report: StackReport, pool: str) -> StackGroup:
    (pool_report,) = (item for item in report.consuming() if item.group == pool)
    return pool_report


@pytest.fixture(scope="module")
def java() -> StackReport:
    return report_threads(dumps("java17-jstack-l.txt"))


def test_consume_threads_come_first_and_equal_stacks_are_one(java: StackReport) -> None:
    roles = [item.role for item in java.groups]
    assert roles == sorted(roles, key=[Role.CONSUME, Role.OTHER, Role.CLIENT, Role.RUNTIME].index)
    monitor = _one(java, "monitor")
    assert monitor.names == tuple(f"ConsumeMessageThread_monitor_{n}" for n in (1, 2, 3))
    assert (monitor.count, monitor.cls, str(monitor.line)) == (
        3, StackClass.LOCK, "shop.orders.Tools.monitor(Tools.java:57)",
    )  # fmt: skip
    assert sum(item.count for item in java.groups) == java.thread_count == 57
    assert (java.dump_count, java.span_ms) == (2, 2000)


def test_owner_and_root_of_a_lock_are_named_with_what_they_do(java: StackReport) -> None:
    monitor = _one(java, "monitor")
    assert (monitor.owner, monitor.owner_cls) == ("ConsumeMessageThread_owner_1", StackClass.HTTP)
    assert (monitor.root, monitor.root_cls) == ("ConsumeMessageThread_owner_1", StackClass.HTTP)
    lock = _one(java, "lock")
    assert (lock.owner, lock.root_cls) == ("ConsumeMessageThread_lockowner_1", StackClass.SLEEP)
    assert str(lock.root_line) == "shop.orders.Tools.holdLock(Tools.java:74)"
    without_l = report_threads(dumps("java17-jcmd.txt"))
    assert _one(without_l, "lock").owner is None
    assert _one(without_l, "monitor").owner == "ConsumeMessageThread_owner_1"


def test_the_root_is_at_the_end_of_a_chain_of_owners() -> None:
    threads = {thread.name: thread for thread in dumps("java17-jstack-l.txt")[0].threads}
    sleeper = threads["ConsumeMessageThread_lockowner_1"]
    middle = threads["ConsumeMessageThread_owner_1"]
    wanted = threads["ConsumeMessageThread_lock_1"].waiting_for
    chained = replace(middle, waiting_for=wanted)
    dump = StackDump(
        source="x", tool=DumpTool.JSTACK, threads=(threads["ConsumeMessageThread_monitor_1"], chained, sleeper)
    )
    monitor = _one(report_threads([dump]), "monitor")
    assert (monitor.owner, monitor.root) == ("ConsumeMessageThread_owner_1", "ConsumeMessageThread_lockowner_1")


def test_two_dumps_tell_stuck_busy_and_idle(java: StackReport) -> None:
    motions = {pool: _one(java, pool).motion for pool in ("http", "cpu", "serialisation", "idle", "sleep")}
    assert motions == {
        "http": Motion.STUCK,
        "cpu": Motion.BUSY,
        "serialisation": Motion.BUSY,
        "idle": Motion.IDLE,
        "sleep": Motion.STUCK,
    }
    share = _one(java, "cpu").cpu_share
    assert share is not None
    assert 0.3 < share <= 1.0
    assert java.gc_share is not None
    assert {_one(report_threads(dumps("java17-jcmd.txt")), "http").motion} == {Motion.UNKNOWN}


def _thread(name: str, line: int, cpu_ms: float | None = None, state: ThreadState = ThreadState.IDLE) -> StackThread:
    frame = StackFrame(function="handle", module="shop.orders", file="shop/orders.py", line=line)
    return StackThread(name=name, native_id=7, state=state, frames=(frame,), cpu_ms=cpu_ms)


def _dump(at_ms: int, *threads: StackThread) -> StackDump:
    return StackDump(source="x", tool=DumpTool.PY_SPY, threads=threads, taken_at_ms=at_ms)


@pytest.mark.parametrize(
    ("first", "second", "motion"),
    [
        (_thread("t", 1), _thread("t", 1), Motion.STUCK),
        (_thread("t", 1), _thread("t", 2), Motion.SLOW),
        (_thread("t", 1, 10.0), _thread("t", 1, 10.2), Motion.STUCK),
        (_thread("t", 1, 10.0), _thread("t", 1, 30.0), Motion.SLOW),
        (_thread("t", 1, 10.0), _thread("t", 1, 900.0), Motion.BUSY),
        (_thread("t", 1, state=ThreadState.RUNNABLE), _thread("t", 2, state=ThreadState.RUNNABLE), Motion.BUSY),
        (_thread("other", 1), _thread("t", 1), Motion.UNKNOWN),
    ],
)
def test_motion_by_calls_and_by_processor_time(first: StackThread, second: StackThread, motion: Motion) -> None:
    (group,) = report_threads([_dump(1_000, first), _dump(2_000, second)]).groups
    assert group.motion is motion


def test_a_deadlock_is_proven_by_the_jvm_only(java: StackReport) -> None:
    circle = ("ConsumeMessageThread_deadlock_1", "ConsumeMessageThread_deadlock_2")
    assert (java.deadlocks, java.suspected) == ((circle,), ())
    newest = dumps("java17-jstack-l.txt")[1]
    cut = report_threads([replace(newest, deadlocks=())])
    assert (cut.deadlocks, [set(item) for item in cut.suspected]) == ((), [set(circle)])


def test_a_deadlock_is_suspected_where_nobody_else_could_hold_the_locks() -> None:
    (dump,) = dumps("python311-remote.txt")
    pair = tuple(thread for thread in dump.threads if "deadlock" in thread.name or "idle" in thread.name)
    alone = replace(dump, threads=pair)
    circle = ("ConsumeMessageThread_deadlock_1", "ConsumeMessageThread_deadlock_2")
    assert report_threads([alone, alone]).suspected == (circle,)
    assert report_threads([alone]).suspected == ()
    holder = next(thread for thread in dump.threads if "owner" in thread.name)
    with_holder = replace(dump, threads=(*pair, holder))
    assert report_threads([with_holder, with_holder]).suspected == ()


@each(
    "name, role, pool, number, cut",
    [
        ("ConsumeMessageThread_7", Role.CONSUME, None, 7, False),
        ("ConsumeMessageThread_order-service_12", Role.CONSUME, "order-service", 12, False),
        ("ConsumeMessageThread_a_b_3", Role.CONSUME, "a_b", 3, False),
        ("ConsumeMessagePopThread_orders_1", Role.CONSUME, "orders", 1, False),
        ("ConsumeMessageThread_please_rename_uniqu", Role.CONSUME, "please_rename_uniqu", None, True),
        ("ConsumeMessageT", Role.CONSUME, None, None, True),
        ("vm@25637@0@dn2d9rhhe2ei_message_consumption_thread_3", Role.CONSUME, None, 3, False),
        ("vm@25637@0@dn2d9rhhe2ei_message_decode_thread_0", Role.CLIENT, None, None, False),
        ("RocketmqMessageConsumption-0-17", Role.CONSUME, None, 17, False),
        ("PullMsgThread-orders_1", Role.CLIENT, "orders", 1, False),
        ("NettyClientSelector_1", Role.CLIENT, None, None, False),
        ("GC Thread#0", Role.RUNTIME, None, None, False),
        ("http-nio-8080-exec-1", Role.OTHER, None, None, False),
    ],
)
def test_names_of_threads(name: str, role: Role, pool: str | None, number: int | None, cut: bool) -> None:
    known = understand(name)
    assert (known.role, known.group, known.number, known.cut) == (role, pool, number, cut)


def test_threads_whose_names_were_cut_stay_in_one_pool() -> None:
    names = [f"ConsumeMessageThread_a-rather-long-group_{n}" for n in (1, 9, 10, 123)]
    made = [replace(_thread(name[:40], 1), native_id=at) for at, name in enumerate([*names, names[0] + "0000"])]
    made.append(replace(_thread(names[1], 1), native_id=99))
    assert report_threads([_dump(1, *made)]).consumer_groups() == ("a-rather-long-group",)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("shop.A$$Lambda$42/0x00007f85d4007a08.call", "shop.A$$Lambda.call"),
        ("shop.A.lambda$main$10", "shop.A.lambda$main"),
        ("com.sun.proxy.$Proxy87.get", "com.sun.proxy.$Proxy.get"),
        ("shop.A$$EnhancerBySpringCGLIB$$1a2b3c.get", "shop.A$$EnhancerBySpringCGLIB.get"),
        ("shop.A$$SpringCGLIB$$0.get", "shop.A$$SpringCGLIB.get"),
        ("sun.reflect.GeneratedMethodAccessor12.invoke", "sun.reflect.GeneratedMethodAccessor.invoke"),
        ("shop.Base64.encode", "shop.Base64.encode"),
    ],
)
def test_names_are_normalised(name: str, shown: str) -> None:
    assert normal_name(name) == shown


def test_no_dump_is_refused() -> None:
    with pytest.raises(ValueError, match="no dump"):
        report_threads([])


@pytest.mark.parametrize(("used_ms", "cls"), [(50.0, StackClass.CPU), (0.2, StackClass.WAIT)])
def test_python_threads_that_take_turns_under_the_interpreter_lock_compute(used_ms: float, cls: StackClass) -> None:
    frame = StackFrame(function="price", module="shop.orders", file="/srv/shop/orders.py", line=7)

    def look(at_ms: int, spent_ms: float) -> StackDump:
        threads = tuple(
            StackThread(
                name=f"ConsumeMessageThread_G_{number}",
                native_id=number,
                state=ThreadState.RUNNABLE if number == 1 else ThreadState.IDLE,
                cpu_ms=spent_ms,
                frames=(frame,),
            )
            for number in range(1, 21)
        )
        return StackDump(source="pid 1", tool=DumpTool.PY_SPY, threads=threads, taken_at_ms=at_ms)

    report = report_threads([look(1_000, 0.0), look(2_000, used_ms)])
    counts = {item.cls: item.count for item in report.consuming()}
    assert counts == ({StackClass.CPU: 20} if cls == StackClass.CPU else {StackClass.CPU: 1, StackClass.WAIT: 19})
