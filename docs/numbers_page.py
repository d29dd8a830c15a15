"""docs/numbers.md and its Chinese: sums that every article about RocketMQ makes, each with what prints it.

Each sum is made by mqctl in tests/docs/test_numbers_page.py, from the command line that the page shows or, where the
command needs a live cluster, by the function behind it. What is not as the page says fails there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mqctl.allocation.key_forecast import key_forecast
from mqctl.allocation.key_order import KeyedMessage
from mqctl.lag.rates import Movement, QueueFlow
from mqctl.model.lang import Lang
from mqctl.model.queue import MessageQueue
from mqctl.model.retry_ladder import RetryLadder

_LEVELS = "'1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """One number.

    Attributes:
        what, how: what is computed, and the sum itself, in English and Chinese.
        command: what prints it, after `mqctl`.
        value: what comes of it.
        path: JMESPath of the value in the command's JSON; None where the command needs a live cluster.
        computed: for those, the function behind it.
    """

    what: tuple[str, str]
    how: tuple[str, str]
    command: str
    value: object
    path: str | None = None
    computed: Callable[[], object] | None = None


def _drain(lag_count: int, in_tps: float, out_tps: float) -> object:
    queue = MessageQueue("T", "a", 0)
    flow = QueueFlow(
        group="G",
        queue=queue,
        owner="c",
        lag_count=lag_count,
        next_offset=0,
        waiting_count=lag_count,
        lag_ms=None,
        in_tps=in_tps,
        out_tps=out_tps,
        movement=Movement.CATCHING_UP if out_tps > in_tps else Movement.FALLING_BEHIND,
        expires_in_ms=None,
        cached_count=0,
    )
    return flow.drain.outlook.value, flow.drain.after_ms


def _by_key() -> object:
    queues = [MessageQueue("T", "a", number) for number in range(4)]
    messages = [
        KeyedMessage(queue=queues[key % 4], store_time_ms=0, queue_offset=number, key=str(key))
        for key in range(100)
        for number in range(10)
    ]
    forecast = key_forecast(
        dict.fromkeys(queues, 250), dict.fromkeys(queues, "c"), messages, thread_count=20, lane_tps=100.0
    )
    return None if forecast is None else (forecast.queue_tps, forecast.key_tps)


SUMS = (
    Sum(
        what=("parallelism of a concurrent group: its threads", "并发消费的并行度：线程总数"),
        how=("3 instances × 20 threads = 60", "3 个实例 × 20 线程 = 60"),
        command="allocation simulate --queues 8 --clients 3 --threads 20",
        path="results[0].parallelism",
        value=60,
    ),
    Sum(
        what=(
            "parallelism of an orderly group: min(threads, queues) of each instance",
            "顺序消费的并行度：各实例 min(线程数, 队列数) 之和",
        ),
        how=(
            "8 queues on 3 instances are 3, 3, 2: min(20, 3) + min(20, 3) + min(20, 2) = 8",
            "8 个队列分给 3 个实例为 3、3、2：min(20, 3) + min(20, 3) + min(20, 2) = 8",
        ),
        command="allocation simulate --queues 8 --clients 3 --threads 20 --mode orderly",
        path="results[0].parallelism",
        value=8,
    ),
    Sum(
        what=("the same with fewer threads than queues", "线程少于队列时"),
        how=("min(2, 3) + min(2, 3) + min(2, 2) = 6", "min(2, 3) + min(2, 3) + min(2, 2) = 6"),
        command="allocation simulate --queues 8 --clients 3 --threads 2 --mode orderly",
        path="results[0].parallelism",
        value=6,
    ),
    Sum(
        what=("what an orderly group passes: a thread for each queue", "顺序消费能通过多少：每个队列一个线程"),
        how=(
            "20 threads pass 1,000/s, one 50/s; 8 queues × 50 = 400 of 900/s that arrive",
            "20 个线程每秒 1000 条，单线程 50 条；8 个队列 × 50 = 400，而每秒到达 900",
        ),
        command="allocation simulate --queues 8 --clients 2 --rate 900 --capacity 1000 --threads 20 --mode orderly",
        path="rooms[0].carried_tps",
        value=400.0,
    ),
    Sum(
        what=("the same with a thread for each key", "每个 Key 一个线程时"),
        how=("2 × 1,000/s are more than the 900/s that arrive: all pass", "2 × 1000 大于每秒到达的 900：全部通过"),
        command="allocation simulate --queues 8 --clients 2 --rate 900 --capacity 1000 --threads 20 --mode key-ordered",
        path="rooms[0].carried_tps",
        value=900.0,
    ),
    Sum(
        what=("the same when half of all messages have one key", "一半消息是同一个 Key 时"),
        how=(
            "450/s of other keys pass, of the hot key's 450/s one thread's 50: 500",
            "其他 Key 的 450 条通过，热点 Key 的 450 条只有一个线程的 50 条：500",
        ),
        command="allocation simulate --queues 8 --clients 2 --rate 900 --capacity 1000 --threads 20 --mode key-ordered --hot-key 0.5",
        path="rooms[0].carried_tps",
        value=500.0,
    ),
    Sum(
        what=(
            "what one queue gets when producers choose by hash and a key is hot",
            "按哈希选队列且有热点 Key 时，一个队列分到多少",
        ),
        how=(
            "4 queues, 1,000/s, 5 keys: key-1 has 60 %, the others 10 % each; key-5 falls into key-1's queue: 600 + 100 = 700/s",
            "4 个队列，每秒 1000 条，5 个 Key：key-1 占 60%，其余各 10%；key-5 与 key-1 同队列：600 + 100 = 700",
        ),
        command="allocation simulate --queues 4 --clients 2 --rate 1000 --selector hash --keys 5 --hot-key 0.6",
        path="shares[0].tps",
        value=700.0,
    ),
    Sum(
        what=("the same by chance or in turn", "随机或轮询时"),
        how=("1,000/s ÷ 4 = 250/s, and every key is in every queue", "1000 ÷ 4 = 250，而每个 Key 都散落在所有队列"),
        command="allocation simulate --queues 4 --clients 2 --rate 1000 --selector random --keys 5 --hot-key 0.6",
        path="shares[0].tps",
        value=250.0,
    ),
    Sum(
        what=("a thread for each key, by the keys of what waits", "依据等待消息的 Key：每个 Key 一个线程"),
        how=(
            "10 ms a message, 4 queues, 20 threads, 100 keys of 10 messages: 4 × 100 = 400/s become 20 × 100 = 2,000/s",
            "每条 10 毫秒，4 个队列，20 个线程，100 个 Key 各 10 条：4 × 100 = 400 变为 20 × 100 = 2000",
        ),
        command="group lag -g GROUP --advise",
        computed=_by_key,
        value=(400.0, 2000.0),
    ),
    Sum(
        what=("which queues go to whom (AVG)", "队列分给谁（AVG）"),
        how=("8 = 3 × 2 + 2: the first two instances get one more", "8 = 3 × 2 + 2：前两个实例各多一个"),
        command="allocation simulate --queues 8 --clients 3",
        path="loads[].before",
        value=[3, 3, 2],
    ),
    Sum(
        what=("instances beyond queues", "多于队列的实例"),
        how=("6 instances − 4 queues = 2 that get none", "6 个实例 − 4 个队列 = 2 个空闲"),
        command="allocation simulate --queues 4 --clients 6",
        path="results[0].idle_count",
        value=2,
    ),
    Sum(
        what=("queues that nobody consumes when subscriptions differ", "订阅不一致时没人消费的队列"),
        how=(
            "c1 subscribes to A, c2 to A and B: half of B falls to c1, which does not want it; 2 of 4",
            "c1 订阅 A，c2 订阅 A 和 B：B 的一半分给不订阅它的 c1；4 个中的 2 个",
        ),
        command="allocation simulate --queues 4 --subscribes c1=A --subscribes c2=A,B",
        path="results[0].orphan_count",
        value=2,
    ),
    Sum(
        what=("the same in Kafka: the leader counts those that subscribe", "Kafka 中：只计算订阅者"),
        how=("all 4 queues of B go to c2: 0", "B 的 4 个队列都归 c2：0"),
        command="allocation simulate --queues 4 --subscribes c1=A --subscribes c2=A,B --as kafka range",
        path="results[1].orphan_count",
        value=0,
    ),
    Sum(
        what=("queues that change owner when an instance is added", "增加一个实例时换主的队列"),
        how=(
            "8 queues, 3 instances become 4: AVG moves 5, Kafka's sticky 2",
            "8 个队列，3 个实例变为 4 个：AVG 移动 5 个，Kafka 的 sticky 移动 2 个",
        ),
        command="allocation simulate --queues 8 --clients 3 --add-clients 1 --as kafka sticky",
        path="results[1:].moved_count",
        value=[5, 2],
    ),
    Sum(
        what=("what a second room must carry when the first is lost", "一个机房丢失后，另一个机房要承担多少"),
        how=(
            "900/s instead of 450/s; its 2 instances pass 2 × 300 = 600: not enough",
            "每秒 900 而不是 450；2 个实例 × 300 = 600：不够",
        ),
        command="allocation simulate --queues 8 --clients 4 --rooms HT,CP --rate 900 --capacity 300 --lose-room HT",
        path="[rooms[-1].required_tps, rooms[-1].carried_tps]",
        value=[900.0, 600.0],
    ),
    Sum(
        what=("when a backlog ends", "堆积何时消化完"),
        how=("36,000,000 ÷ (6,000/s − 1,000/s) = 7,200 s = 2 h", "36,000,000 ÷ (6000 − 1000) = 7200 秒 = 2 小时"),
        command="group lag -g GROUP --advise",
        computed=lambda: _drain(36_000_000, 1_000.0, 6_000.0),
        value=("drains", 7_200_000),
    ),
    Sum(
        what=("when a backlog never ends", "永远消化不完的堆积"),
        how=("1,000/s consumed − 1,200/s arriving is below 0", "消费 1000 − 到达 1200 小于 0"),
        command="group lag -g GROUP --advise",
        computed=lambda: _drain(36_000_000, 1_200.0, 1_000.0),
        value=("never", None),
    ),
    Sum(
        what=("a delay that no level has", "没有对应级别的延时"),
        how=(
            "100 min = 1 h + 30 min + 10 min: levels 17, 16, 14",
            "100 分钟 = 1 小时 + 30 分钟 + 10 分钟：级别 17、16、14",
        ),
        command=f"delay plan --at +100min --levels {_LEVELS}",
        path="hops[].level",
        value=[17, 16, 14],
    ),
    Sum(
        what=("a delay of three days", "延时三天"),
        how=("72 h ÷ 2 h = 36 hops", "72 小时 ÷ 2 小时 = 36 跳"),
        command=f"delay plan --at +3d --levels {_LEVELS}",
        path="hop_count",
        value=36,
    ),
    Sum(
        what=(
            "bloom filter of SQL92 subscriptions, 32 groups, 20 % wrong at most",
            "SQL92 订阅的布隆过滤器：32 个组，误判率 20%",
        ),
        how=(
            "⌈log2 5⌉ = 3 hashes; ⌈32 × log2 5 × log2 e⌉ = 108, in whole bytes 112 bits",
            "⌈log2 5⌉ = 3 次哈希；⌈32 × log2 5 × log2 e⌉ = 108，取整字节 112 位",
        ),
        command="filter lint --bloom",
        path="bloom.[hash_count, bit_count]",
        value=[3, 112],
    ),
    Sum(
        what=("the same with 1 %", "误判率 1%"),
        how=(
            "⌈log2 100⌉ = 7 hashes; ⌈32 × log2 100 × log2 e⌉ = 307, in whole bytes 312 bits",
            "⌈log2 100⌉ = 7 次哈希；⌈32 × log2 100 × log2 e⌉ = 307，取整字节 312 位",
        ),
        command="filter lint --bloom --error 1",
        path="bloom.[hash_count, bit_count]",
        value=[7, 312],
    ),
    Sum(
        what=("how long a failing message is tried: 16 retries", "失败消息的重试窗口：16 次"),
        how=(
            "10 s + 30 s + 1 … 10 min + 20 min + 30 min + 1 h + 2 h = 4 h 45 min 40 s",
            "10 秒 + 30 秒 + 1 … 10 分钟 + 20 分钟 + 30 分钟 + 1 小时 + 2 小时 = 4 小时 45 分 40 秒",
        ),
        command="retry list -g GROUP",
        computed=lambda: RetryLadder(retry_max_times=16).whole_ms(),
        value=17_140_000,
    ),
    Sum(
        what=("the same of a group with 3 retries", "重试 3 次的组"),
        how=("10 s + 30 s + 1 min = 100 s", "10 秒 + 30 秒 + 1 分钟 = 100 秒"),
        command="retry list -g GROUP",
        computed=lambda: RetryLadder(retry_max_times=3).whole_ms(),
        value=100_000,
    ),
)
_HEADS = {
    Lang.EN: (
        "# Numbers, and what prints them",
        "Sums that talks and books about RocketMQ make. The value is what mqctl computes: a test runs each command line (with "
        "`-o json`), or the function behind it where the command needs a live cluster. How it is computed: "
        "[models](models.md). [中文](numbers.zh.md)",
        "| number | sum | printed by |",
    ),
    Lang.ZH: (
        "# 各种计算，以及用什么命令得到",
        "RocketMQ 的文章和书中常见的计算。数值由 mqctl 算出：测试会运行每条命令（加 `-o json`）；需要在线集群的，则调用其背后的函数。"
        "计算方法见 [models](models.md)。[English](numbers.md)",
        "| 数值 | 计算 | 命令 |",
    ),
}


def page(lang: Lang) -> str:
    """Returns the page in a language."""
    title, begin, head = _HEADS[lang]
    place = list(Lang).index(lang)
    rows = [f"| {item.what[place]} | {item.how[place]} | `mqctl {item.command}` |" for item in SUMS]
    return "\n".join((title, "", begin, "", head, "|---|---|---|", *rows, ""))
