"""MQ4, POP: the words of `mqctl.diagnosis.mq4_pop` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ416": Text(
        title="POP 取走的消息没有重新投递",
        what={
            "": "消费组 {group} 取走且未 ack 的 {topic} 的 {due_count} 条消息已到重投时间，最早的已超时 {late_ms}，仍未进入重试主题。"
        },
        effect="broker 完成 revive 之前，这些消息不会再次投递，也没有其他指标能看出来。",
        advice="检查 broker 的时间轮是否运转（timerWheelEnable、磁盘），以及 revive 队列是否前进。",
        explain="5.x 的 broker 在不可见时间结束后 2 到 4 秒把未 ack 的消息写入重试主题。超过 1 分钟说明 revive 服务或时间轮停滞，或有积压。",
    ),
    "MQ417": Text(
        title="重试消息滞留在另一个名字的主题里",
        what={
            "": "消费组 {group} 有 {topic} 的 {stranded_count} 条重试消息留在 V2 名字的重试主题里；enableRetryTopicV2 为 false 时没有 pop 会读它。"
        },
        effect="这些消息永远不会投递，5.x 工具的积压统计也不包含该主题。",
        advice="把 enableRetryTopicV2 设为 true，直到该组消费完；此时 V1 名字的主题同样会被读取。",
        explain="POP 重试主题有两种名字：%RETRY%组_主题 和 %RETRY%组+主题。后者只在 enableRetryTopicV2 打开时写入和读取，关闭时其中的消息就留在那里。",
    ),
}
