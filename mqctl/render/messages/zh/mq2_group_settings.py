"""MQ217, settings of a group: the words of `mqctl.diagnosis.mq2_group_settings` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ217": Text(
        title="broker 上的消费组配置对该组不利",
        what={
            "": "各 broker 上消费组 {group} 的 {setting} 不一致：{sides}。",
            "notice": "{brokers} 上消费组 {group} 的 notifyConsumerIdsChangedEnable 为 false：{member_count} 个成员在有成员加入或离开时收不到通知。",
            "none": "消费组 {group} 在 {brokers} 上不允许重试（retryMaxTimes={most_tries_count}）：消息失败一次就成为死信。",
        },
        effect="消息的处理方式取决于它存储在哪个 broker，或要等到下一次重平衡：没有通知时，离开的成员的队列最多等待 20 秒才有人接手。",
        advice="让所有 broker 上该组的配置一致：`mqctl group update -g {group}` 会在全部 broker 上设置。",
        explain="比较各 master 上的 consumeMessageOrderly、consumeTimeoutMinute（5.x）和 retryMaxTimes。3.4.9 及以后的 Java 客户端自带最大重试次数；"
        "retryMaxTimes 只对 proxy 的客户端和不带该值的客户端有效。如果在线成员都自带该值，retryMaxTimes 为 0 时不报告。",
    ),
}
