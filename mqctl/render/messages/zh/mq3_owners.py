"""MQ3, owners: the words of `mqctl.diagnosis.mq3_owners` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ309": Text(
        title="队列无人消费",
        what={
            "": "消费组 {group} 的 {topic} 共 {queue_count} 个队列，有 {orphan_count} 个无人消费：{queues}。",
            "topic": "消费组 {group} 的 {topic} 共 {queue_count} 个队列，有 {orphan_count} 个无人消费：{queues}。它们分给了没有订阅的 {clients}。",
            "locked": "顺序消费组 {group} 的 {topic} 共 {queue_count} 个队列，有 {orphan_count} 个暂时无人消费：{queues}。如果有消费者被强行终止，它在 broker 上的队列锁最迟到 {over_time_ms} 过期，届时会自行恢复。",
        },
        effect="其中积压 {waiting_count} 条消息，新消息也会一直留在那里。",
        advice="两分钟后再看一次（--window 90s 会看两次）。如果仍然如此，让所有成员的订阅一致并使用同一种策略；查找其他成员看不到的成员。",
        explain="比较路由中的可读队列与每个实例报告的持有队列。仅当全部实例都已应答且两分钟内没有启动过时给出。顺序消费组中，被强行终止的消费者的锁持续 60 秒，新归属者每 20 秒重试一次，只有在这之后再看一次才能区分。",
    ),
    "MQ310": Text(
        title="队列被两个实例同时消费",
        what={"": "消费组 {group} 中 {topic} 的 {double_count} 个队列被重复持有：{queues}，持有者 {clients}。"},
        effect="这些队列的消息会消费两次，双方还会互相覆盖位点。",
        advice="检查同一组内是否有两种策略，或者 broker 看到的成员不一致。",
        explain="实例之间没有协商：各自按所见计算。列表或策略不同就会重叠。",
    ),
    "MQ313": Text(
        title="队列够分，却有实例没有分到队列",
        what={
            "": "消费组 {group} 有 {idle_count} 个实例没有持有 {topic} 的队列，而 {queue_count} 个队列足够分给 {member_count} 个实例：{clients}。"
        },
        effect="其他实例承担了超出份额的队列，整个组的消费能力没有用足。",
        advice="导出该实例的线程栈：重平衡线程可能卡住。确认后重启该实例。",
        explain="只要实例数不超过队列数，AVG 和 AVG_BY_CIRCLE 就会让每个实例至少分到一个队列。没有队列的实例要么没有重平衡，要么看到的成员列表不同。成员没有说明分配策略时，只作为可能给出。",
    ),
}
