"""Threads that are known to do one thing are called by it, whatever tool dumped them; a user's rules come first."""

from __future__ import annotations

import json

import pytest

from docs.stack_classes import scores
from mqctl.errors import BadInputError
from mqctl.model.dump import StackFrame, StackThread, ThreadState
from mqctl.stacks.classify import Classifier, classify_thread
from mqctl.stacks.frame_text import java_frame
from mqctl.stacks.names import Role, understand
from mqctl.stacks.rule_table import CLASS_RULES
from mqctl.stacks.rules import StackClass, user_rules
from tests.each import each
from tests.stacks.samples import DUMPS, FILES, dumps

LABELS: dict[str, list[str]] = json.loads((DUMPS / "labels.json").read_text(encoding="utf-8"))
DECIDING = [name for name in FILES if name not in ("python311-py-spy.txt", "python311-py-spy.json")]


def _thread(*calls: str, state: ThreadState = ThreadState.WAITING, code: str | None = None) -> StackThread:
    frames = [java_frame(call) for call in calls]
    assert all(frames)
    top = frames[0]
    assert top is not None
    first = StackFrame(
        function=top.function, module=top.module, file=top.file, line=top.line, native=top.native, code=code
    )
    return StackThread(name="t", state=state, frames=(first, *(frame for frame in frames[1:] if frame)))


@each("name", DECIDING)
def test_every_labelled_thread_is_called_by_what_it_does(name: str) -> None:
    judged = 0
    for dump in dumps(name):
        for thread in dump.threads:
            known = understand(thread.name)
            if known.role is Role.CONSUME and known.group is not None:
                assert classify_thread(thread).cls in LABELS[known.group], thread.name
                judged += 1
    assert judged >= 23


def test_no_thread_is_judged_wrong_or_healthy_although_it_is_not() -> None:
    for score in scores():
        assert (score.wrong, score.healthy) == (0, 0), score
        assert score.right >= score.threads // 2, score


def test_the_application_line_is_the_innermost_call_of_the_application() -> None:
    (dump,) = dumps("java17-remote.txt")
    lines = {thread.name: classify_thread(thread).line for thread in dump.threads}
    assert str(lines["ConsumeMessageThread_http_1"]) == "shop.orders.Tools.httpPost(Tools.java:28)"
    assert lines["ConsumeMessageThread_idle_1"] is None
    assert lines["ConsumeMessageThread_orderly_2"] is None


def test_a_socket_is_told_by_phase_and_by_the_library_below_a_wrapper() -> None:
    read = (
        "sun.nio.ch.SocketDispatcher.read0(Native Method)",
        "sun.nio.ch.NioSocketImpl.read(NioSocketImpl.java:346)",
        "java.net.Socket$SocketInputStream.read(Socket.java:966)",
    )
    plain = classify_thread(_thread(*read, "shop.Proto.read(Proto.java:3)", state=ThreadState.RUNNABLE))
    assert (plain.cls, plain.phase) == (StackClass.SOCKET, "read")
    wrapped = (
        *read,
        "shop.Meter.read(Meter.java:3)",
        "com.mysql.cj.protocol.a.PacketReader.readHeader(S.java:63)",
    )
    assert (
        classify_thread(_thread(*wrapped, "shop.Dao.get(Dao.java:9)", state=ThreadState.RUNNABLE)).cls
        == StackClass.DATABASE
    )
    connecting = classify_thread(
        _thread(
            "java.net.PlainSocketImpl.socketConnect(Native Method)",
            "java.net.Socket.connect(Socket.java:606)",
            "org.apache.http.conn.socket.PlainConnectionSocketFactory.connectSocket(P.java:75)",
            "shop.Pay.post(Pay.java:20)",
            state=ThreadState.RUNNABLE,
        )
    )
    assert (connecting.cls, connecting.phase) == (StackClass.HTTP, "connect")


@each(
    "calls, state, cls",
    [
        (("java.net.Inet6AddressImpl.lookupAllHostAddr(Native Method)", "java.net.InetAddress.getByName(I.java:1)",
          "okhttp3.Dns.lookup(Dns.kt:1)", "shop.A.b(A.java:1)"), ThreadState.RUNNABLE, StackClass.DNS),
        (("java.lang.Thread.sleep(Native Method)", "org.springframework.retry.backoff.ThreadWaitSleeper.sleep(T:3)",
          "shop.A.b(A.java:1)"), ThreadState.TIMED_WAITING, StackClass.RETRY),
        (("jdk.internal.misc.Unsafe.park(Native Method)", "java.util.concurrent.locks.LockSupport.park(L.java:1)",
          "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await(A.java:1)",
          "org.apache.http.pool.AbstractConnPool.getPoolEntryBlocking(A.java:1)", "shop.A.b(A.java:1)"),
         ThreadState.WAITING, StackClass.CONNECTION_POOL),
        (("java.lang.Object.wait(Native Method)", "com.alibaba.druid.pool.DruidDataSource.takeLast(D.java:1)",
          "shop.A.b(A.java:1)"), ThreadState.WAITING, StackClass.CONNECTION_POOL),
        (("java.util.HashMap.get(HashMap.java:1)", "shop.A.b(A.java:1)"), ThreadState.RUNNABLE, StackClass.CPU),
        (("java.lang.Runtime.gc(Native Method)", "java.lang.System.gc(System.java:1)", "shop.A.b(A.java:1)"),
         ThreadState.RUNNABLE, StackClass.GC),
        (("shop.Native.call(Native Method)", "shop.A.b(A.java:1)"), ThreadState.RUNNABLE, StackClass.UNKNOWN),
        (("shop.A.b(A.java:1)",), ThreadState.UNKNOWN, StackClass.UNKNOWN),
        (("jdk.internal.misc.Unsafe.park(Native Method)", "java.util.concurrent.CompletableFuture.get(C.java:1)",
          "io.lettuce.core.LettuceFutures.awaitOrCancel(L.java:1)", "shop.A.b(A.java:1)"),
         ThreadState.WAITING, StackClass.REDIS),
        (("java.lang.Thread.sleep0(Native Method)", "java.lang.Thread.sleep(Thread.java:1)", "shop.A.poll(A.java:1)"),
         ThreadState.TIMED_WAITING, StackClass.SLEEP),
    ],
)  # fmt: skip
def test_well_known_stacks(calls: tuple[str, ...], state: ThreadState, cls: StackClass) -> None:
    assert classify_thread(_thread(*calls, state=state)).cls == cls


@each(
    "code, state, cls",
    [
        ("time.sleep(5)", ThreadState.IDLE, StackClass.SLEEP),
        ("with self._lock:", ThreadState.IDLE, StackClass.LOCK),
        ("with second:", ThreadState.IDLE, StackClass.LOCK),
        ("self._lock.acquire()", ThreadState.IDLE, StackClass.LOCK),
        ("data = sock.recv(4096)", ThreadState.IDLE, StackClass.SOCKET),
        ('with open("x") as f:', ThreadState.IDLE, StackClass.FILE),
        ("value = value * 31 % 7", ThreadState.IDLE, StackClass.CPU),
        ("value = value * 31 % 7", ThreadState.RUNNABLE, StackClass.CPU),
        ("cursor.execute(query)", ThreadState.IDLE, StackClass.WAIT),
        (None, ThreadState.IDLE, StackClass.WAIT),
    ],
)
def test_a_python_line_tells_what_its_c_call_does(code: str | None, state: ThreadState, cls: StackClass) -> None:
    thread = _thread(
        "shop.orders.handle(orders.py:7)", "mqctl.client.consumer.workers.Workers._work(workers.py:37)", code=code
    )
    judged = classify_thread(StackThread(name=thread.name, state=state, frames=thread.frames))
    assert judged.cls == cls
    assert judged.line is thread.frames[0]


def test_an_empty_stack_is_unknown() -> None:
    assert classify_thread(StackThread(name="t", state=ThreadState.RUNNABLE)).cls == StackClass.UNKNOWN


def test_rules_have_names_of_their_own_and_say_what_they_recognise() -> None:
    assert len({rule.name for rule in CLASS_RULES}) == len(CLASS_RULES)
    assert all(rule.why for rule in CLASS_RULES)
    assert {rule.cls for rule in CLASS_RULES} | {StackClass.UNKNOWN} == set(StackClass)


def test_a_users_rules_come_first_and_may_name_classes_of_their_own() -> None:
    thread = _thread(
        "java.lang.Thread.sleep(Native Method)",
        "com.acme.gateway.Channel.await(Channel.java:9)",
        "com.acme.framework.Base.run(Base.java:1)",
        "shop.A.b(A.java:1)",
        state=ThreadState.TIMED_WAITING,
    )
    assert classify_thread(thread).cls == StackClass.SLEEP
    content = {
        "rules": [{"name": "gateway", "class": "acme", "calls": ["com.acme.gateway.*"], "states": ["TIMED_WAITING"]}],
        "libraries": ["com.acme.framework.*", "com.acme.gateway"],
        "application": ["org.apache.acme.*"],
    }
    thread_class = Classifier(user_rules(content, "rules.yaml")).classify(thread)
    assert (thread_class.cls, thread_class.rule, str(thread_class.line)) == ("acme", "gateway", "shop.A.b(A.java:1)")


@each(
    "content, words",
    [
        (None, "a mapping"),
        ({"rule": []}, "nothing is called rule"),
        ({"rules": "x"}, "rules is not a list"),
        ({"rules": [1]}, "rule 1 is not a mapping"),
        ({"rules": [{"class": "x"}]}, "no condition"),
        ({"rules": [{"calls": ["a"]}]}, "class is missing"),
        ({"rules": [{"class": "Has Blanks", "calls": ["a"]}]}, "class is missing"),
        ({"rules": [{"class": "x", "calls": [1]}]}, "calls is not a list"),
        ({"rules": [{"class": "x", "code": ["("]}]}, "code (:"),
        ({"rules": [{"class": "x", "states": ["ASLEEP"]}]}, "ASLEEP is not a state"),
        ({"rules": [{"class": "x", "calls": ["a"], "within": -1}]}, "within"),
        ({"rules": [{"class": "x", "calls": ["a"], "color": 1}]}, "nothing is called color"),
        ({"application": 7}, "application is not a list"),
    ],
)
def test_rules_that_cannot_be_used_are_refused_with_their_place(content: object, words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        user_rules(content, "rules.yaml")
    assert words in caught.value.reason
    assert "rules.yaml" in caught.value.problem


def test_all_problems_of_a_rules_file_are_named_at_once() -> None:
    with pytest.raises(BadInputError) as caught:
        user_rules({"rules": [{"class": "x"}, {"calls": ["a"]}], "x": 1}, "r")
    assert all(part in caught.value.reason for part in ("rule 1", "rule 2", "nothing is called x"))
