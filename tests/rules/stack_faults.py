"""Consumers whose threads do something that keeps them behind (MQ32x), injected into the healthy live cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mqctl.model.finding import Value
from mqctl.model.member import HeldQueue, StackText
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import all_orderly
from tests.rules.live_snapshots import BROKERS, LIVE, MINUTE, NOW, held

Scene = tuple[str, str | None, ClusterSnapshot, dict[str, Value]]
_APP = "shop.orders.Tools.handle(Tools.java:28)"
_BASE = "org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService$ConsumeRequest.run(C.java:402)"
_PARK = "jdk.internal.misc.Unsafe.park(Native Method)"
_IDLE = (_PARK, "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1062)")
_READ = "java.net.SocketInputStream.socketRead0(Native Method)"
_LOCK = (_PARK, "java.util.concurrent.locks.ReentrantLock.lock(ReentrantLock.java:322)")
_HTTP = (_READ, "org.apache.http.impl.io.SessionInputBufferImpl.fillBuffer(S.java:153)")


def threads(count: int, state: str, *calls: str, first: int = 1) -> str:
    """Consume threads of the group G as a remote dump shows them."""
    parts = []
    for number in range(first, first + count):
        prefix = f"ConsumeMessageThread_G_{number}".ljust(40)
        parts.append("".join(f"{prefix}{line}\n" for line in (f"TID: {number} STATE: {state}", *calls)) + "\n")
    return "".join(parts)


def busy(state: str, *calls: str) -> str:
    """18 threads that do this below the application's line, and two that have nothing to do."""
    return threads(18, state, *calls, _APP, _BASE) + threads(2, "WAITING", *_IDLE, first=19)


IDLE_POOL = threads(20, "WAITING", *_IDLE)
ONE_AT_WORK = threads(19, "WAITING", *_IDLE) + threads(1, "RUNNABLE", *_HTTP, _APP, _BASE, first=20)


def behind(text: str, later: str | None = None, *, pool: str = "20", **queue: object) -> ClusterSnapshot:
    """The first instance shows `text`; 100 messages wait in its first queue, the oldest for two minutes."""
    first = LIVE.brokers[0]
    late = ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=900, next_store_time_ms=NOW - 2 * MINUTE)
    first = replace(first, consumer_offsets=(late, *first.consumer_offsets[1:]))
    one = LIVE.running[0]
    standing: HeldQueue = held(BROKERS[0], 0, **{"commit_offset": 900, **queue})
    shown = replace(
        one,
        queues=(standing, *one.queues[1:]),
        properties={**one.properties, "PROP_THREADPOOL_CORE_SIZE": pool},
        stacks=text,
        later_stacks=(StackText(taken_at_ms=NOW + 1_000, text=text if later is None else later),),
    )
    return replace(LIVE, brokers=(first, *LIVE.brokers[1:]), running=(shown, *LIVE.running[1:]))


_JAVA = """\
2026-11-21 08:00:00
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

{threads}
JNI global refs: 1, weak refs: 0
{after}"""
_BLOCKED = """\
"ConsumeMessageThread_G_{number}" #{number} daemon prio=5 tid=0x{number} nid={number} waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
\tat shop.orders.Tools.handle(Tools.java:28)
\t- waiting to lock <0x{wanted:04x}> (a java.lang.Object)
{held}\tat org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService$ConsumeRequest.run(C.java:402)

"""
_OWNER = """\
"ConsumeMessageThread_G_99" #99 daemon prio=5 os_prio=0 tid=0x99 nid=99 runnable
   java.lang.Thread.State: RUNNABLE
\tat java.net.SocketInputStream.socketRead0(java.base@17.0.15/Native Method)
\tat shop.orders.Tools.call(Tools.java:40)
\t- locked <0x0001> (a java.lang.Object)
\tat shop.orders.Tools.handle(Tools.java:28)

"""
_CIRCLE = """
Found one Java-level deadlock:
=============================
"ConsumeMessageThread_G_1":
  waiting to lock monitor 0x01 (object 0x0002, a java.lang.Object),
  which is held by "ConsumeMessageThread_G_2"

"ConsumeMessageThread_G_2":
  waiting to lock monitor 0x02 (object 0x0001, a java.lang.Object),
  which is held by "ConsumeMessageThread_G_1"

Java stack information for the threads listed above:
Found 1 deadlock.
"""


def _blocked(number: int, wanted: int, has: int | None = None) -> str:
    line = f"\t- locked <0x{has:04x}> (a java.lang.Object)\n" if has else ""
    return _BLOCKED.format(number=number, wanted=wanted, held=line)


_OWNED = _JAVA.format(threads="".join(_blocked(number, 1) for number in range(1, 18)) + _OWNER, after="")
_PROVEN = _JAVA.format(threads=_blocked(1, 2, 1) + _blocked(2, 1, 2), after=_CIRCLE)
_ORDERLY_WAIT = "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService$ConsumeRequest.run(C.java:416)"
_QUEUE_OWNED = _OWNED.replace(f"\tat {_APP}\n\t- waiting to lock", f"\tat {_ORDERLY_WAIT}\n\t- waiting to lock")
_TWO_BLOCKED = threads(2, "BLOCKED", _APP, _BASE)

SCENES: list[Scene] = [
    ("MQ320", "proven", replace(LIVE, running=(replace(LIVE.running[0], stacks=_PROVEN), LIVE.running[1])),
     {"thread_count": 2}),
    ("MQ320", "suspected", replace(LIVE, running=(replace(
        LIVE.running[0], stacks=_TWO_BLOCKED, later_stacks=(StackText(taken_at_ms=NOW + 1_000, text=_TWO_BLOCKED),),
    ), LIVE.running[1])), {"thread_count": 2}),
    ("MQ321", "owner", behind(_OWNED, "", pool="18"), {"thread_count": 17, "pool_count": 18}),
    ("MQ321", None, behind(busy("WAITING", *_LOCK) + threads(1, "TIMED_WAITING",
    "java.lang.Thread.sleep(Native Method)",
                                                             "shop.orders.Tools.other(Tools.java:1)", first=30)),
     {"thread_count": 18, "pool_count": 21, "idle_count": 2}),
    ("MQ322", "http", behind(busy("RUNNABLE", *_HTTP)), {"thread_count": 18, "pool_count": 20, "stuck_count": 18}),
    ("MQ322", "database", behind(busy("RUNNABLE", _READ,
    "com.mysql.cj.protocol.a.PacketReader.readHeader(P.java:63)")), {}),
    ("MQ322", "redis", behind(busy("RUNNABLE", _READ,
    "redis.clients.jedis.util.RedisInputStream.ensureFill(R.java:1)")), {}),
    ("MQ322", "rpc", behind(busy("WAITING", _PARK,
    "org.apache.dubbo.rpc.protocol.AbstractInvoker.invoke(A.java:1)")), {}),
    ("MQ322", "send", behind(busy("WAITING", _PARK,
    "org.apache.rocketmq.client.producer.DefaultMQProducer.send(D.java:1)")), {}),
    ("MQ322", "socket", behind(busy("RUNNABLE", _READ)), {}),
    ("MQ322", "dns", behind(busy("RUNNABLE", "java.net.Inet4AddressImpl.lookupAllHostAddr(Native Method)")), {}),
    ("MQ322", "connection-pool", behind(busy("TIMED_WAITING", _PARK,
    "com.zaxxer.hikari.pool.HikariPool.getConnection(H.java:1)")), {}),
    ("MQ323", "sleep", behind(busy("TIMED_WAITING", "java.lang.Thread.sleep(Native Method)")), {}),
    ("MQ323", "retry", behind(busy("TIMED_WAITING", "java.lang.Thread.sleep(Native Method)",
    "shop.A.retryLater(A.java:1)")), {}),
    ("MQ323", "wait", behind(busy("WAITING", _PARK, "java.util.concurrent.CountDownLatch.await(C.java:1)")), {}),
    ("MQ324", "cpu", behind(busy("RUNNABLE")), {"busy_count": 18}),
    ("MQ324", "gc", behind(busy("RUNNABLE", "java.lang.Runtime.gc(Native Method)")), {}),
    ("MQ324", "serialisation", behind(busy("RUNNABLE", "com.alibaba.fastjson.JSON.parse(JSON.java:1)")), {}),
    ("MQ324", "logging", behind(busy("BLOCKED", "org.apache.log4j.Category.callAppenders(Category.java:204)")), {}),
    ("MQ324", "file", behind(busy("RUNNABLE", "java.io.FileInputStream.readBytes(Native Method)")), {}),
    ("MQ324", "class-loading", behind(busy("BLOCKED", "java.lang.ClassLoader.loadClass(ClassLoader.java:404)")), {}),
    ("MQ325", "owner", behind(_QUEUE_OWNED, "", pool="18"), {"thread_count": 17}),
    ("MQ325", None, behind(threads(18, "BLOCKED", _ORDERLY_WAIT)), {"thread_count": 18}),
    ("MQ326", None, behind(busy("RUNNABLE", "shop.Native.call(Native Method)")), {"thread_count": 18}),
    ("MQ327", "commit", behind(IDLE_POOL, commit_offset=1_000, last_consume_time_ms=NOW - MINUTE),
     {"queue_offset": 1_000, "consumer_offset": 900, "idle_ms": MINUTE}),
    ("MQ327", "starved", behind(IDLE_POOL), {"pool_count": 20, "lag_count": 100}),
    ("MQ328", None, behind(threads(1, "WAITING", *_IDLE), cached_count=50), {"configured_count": 20,
    "pool_count": 1}),
]  # fmt: skip

_STOPPED: Any = {"cached_count": 5, "cached_min_offset": 900, "last_consume_time_ms": NOW - 10 * MINUTE}
DOUBLE_SCENES: list[tuple[Scene, str]] = [
    (("MQ327", "held", behind(ONE_AT_WORK, **_STOPPED), {"queue_offset": 900, "idle_ms": 2 * MINUTE}), "MQ307"),
    (("MQ327", "lost", behind(IDLE_POOL, **_STOPPED), {"queue_offset": 900}), "MQ307"),
    (("MQ327", "stopped", behind(IDLE_POOL, last_pull_time_ms=NOW - 10 * MINUTE), {"queue_count": 1}), "MQ308"),
]


def _unlocked() -> ClusterSnapshot:
    snapshot = all_orderly(behind(IDLE_POOL))
    one = snapshot.running[0]
    queues = (replace(one.queues[0], locked=False), *one.queues[1:])
    return replace(snapshot, running=(replace(one, queues=queues), *snapshot.running[1:]))


DOUBLE_SCENES.append((("MQ327", "unlocked", _unlocked(), {"queue_count": 1}), "MQ501"))
