"""MQ2, refused: the words of `mqctl.diagnosis.mq2_refused` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ213": Text(
        title="被 broker 拒绝的消费组",
        what={
            "": "{brokers} 上没有消费组 {group} 的配置，且不允许自动创建：它的 {member_count} 个成员每次拉取都被拒绝（错误码 26）。"
        },
        effect="该消费组在这些 broker 上什么也消费不到，而成员看起来都在线。",
        advice="创建该消费组（mqctl group create），或检查组名是否写错。",
        explain="autoCreateSubscriptionGroup=false 时，broker 接受没有配置的消费组的心跳，但以 SUBSCRIPTION_GROUP_NOT_EXIST 拒绝拉取。",
    ),
    "MQ214": Text(
        title="被 broker 拒绝的 SQL92 订阅",
        what={
            "": "消费组 {group} 用 SQL92 订阅 {topic}，而 {brokers} 没有开启属性过滤（enablePropertyFilter=false）。"
        },
        effect="它的 {member_count} 个成员的拉取会被拒绝，消费不到这些 broker 上的消息。",
        advice="在 broker 配置中设置 enablePropertyFilter=true 并重启，或改用 tag 订阅。",
        explain="broker 只有在 enablePropertyFilter=true（默认关闭）时才支持 SQL92。消费者启动时只向一个 broker 检查，其他 broker 会拒绝它的拉取。",
    ),
    "MQ215": Text(
        title="FIFO topic 未按顺序消费",
        what={"": "Topic {topic} 的类型是 FIFO，而消费组 {group} 并发消费（consumeMessageOrderly=false）。"},
        effect="同一消息组的消息可能被同时消费，顺序与发送时不同。",
        advice="如果业务需要顺序，请为该组设置 consumeMessageOrderly=true，或使用顺序监听器。",
        explain="对 proxy 的客户端和 POP 消费者，由消费组的设置决定；其他客户端由监听器决定。topic 的 FIFO 类型只约束发送。",
    ),
    "MQ218": Text(
        title="被 broker 拒绝的广播消费",
        what={"": "消费组 {group} 的成员广播消费，而 {brokers} 不允许（consumeBroadcastEnable=false）。"},
        effect="它的 {member_count} 个成员在那里的拉取都被拒绝，什么也消费不到。",
        advice="为该组设置 consumeBroadcastEnable=true（mqctl group update），或改为集群消费。",
        explain="消费组配置不允许时，broker 以 NO_PERMISSION 拒绝广播消费者的拉取。",
    ),
}
