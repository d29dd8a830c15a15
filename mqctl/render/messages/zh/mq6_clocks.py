"""MQ65x, clocks: the words of `mqctl.diagnosis.mq6_clocks` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ650": Text(
        title="生产者的时钟有偏差",
        what={
            "": "生产者 {host} 的时钟比 broker 快 {difference_ms}：{topics} 的消息产生时间晚于存储时间。",
            "behind": "生产者 {host} 的时钟比 broker 慢 {difference_ms}，或者它的消息都耗时这么久：查看了 {topics} 的 {sampled_count} 条消息。",
        },
        effect="按 key 和按时间的查询会漏掉它的消息，定时投递的时刻会偏移，由产生时间算出的延迟是错的。",
        advice="比较 {host} 与 broker 上的 date，让两者使用同一个时间服务器。",
        explain="比较最多 32 个 topic 中最新 4 条消息的产生时间（生产者时钟）和存储时间（broker 时钟），不含延迟消息和事务消息。快 10 秒以上，或三条消息都慢一分钟以上才报告。产生时间早于一天的消息是从别处复制来的。",
    ),
}
