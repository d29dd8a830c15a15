"""MQ219, MQ220, churn: the words of `mqctl.diagnosis.mq2_churn` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ219": Text(
        title="成员反复重连",
        what={
            "": "{window_ms} 内消费组 {group} 的 {member_count} 个成员中有 {remade_count} 个重新建立了连接（{clients}）；{moved_count} 个队列换了持有者。",
            "members": "{window_ms} 内消费组 {group} 的 {member_count} 个成员中有 {remade_count} 个重新建立了连接（{clients}）。各队列由谁持有未知。",
        },
        effect="每断开一次连接，就相当于一个成员离开又回来：队列重新分配，处理中的消息会再次投递。",
        advice="检查客户端与 broker 之间的网络（在客户端机器上运行 mqctl broker reach）、客户端 JVM 是否有超过超时时间的停顿，以及会断开空闲连接的防火墙。",
        explain="比较两次查看中每个客户端连接的地址：没有断开的客户端端口不变。重启过的客户端 id 不同，不计算在内。",
    ),
    "MQ220": Text(
        title="成员反复上下线",
        what={
            "": "{window_ms} 内消费组 {group} 有 {flapping_count} 个成员离开又回来（{clients}）；{queue_count} 个队列不止一次换了持有者。",
            "members": "{window_ms} 内消费组 {group} 有 {flapping_count} 个成员离开又回来（{clients}）。各队列由谁持有未知。",
            "queues": "{window_ms} 内消费组 {group} 的成员没有变化，却有 {queue_count} 个队列不止一次换了持有者。",
        },
        effect="每次都会重新分配队列：消费暂停，处理中的消息会再次投递。",
        advice="在成员的日志里查找离开的原因（网络、长时间停顿、被探针重启）。成员不变而队列换手时，比较它们的分配策略和客户端 id。",
        explain="在窗口内每 20 秒查看一次每个消费组的成员，至少四次。滚动重启时每个成员只离开一次，新成员的 id 不同。",
    ),
}
