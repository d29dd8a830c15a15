"""MQ311, MQ312: the words of `mqctl.diagnosis.mq3_settings` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ311": Text(
        title="消费者被自己的配置限制",
        what={
            "interval": "消费组 {group} 的 {client} 每次拉取 {batch_count} 条后休息 {interval_ms}（pullInterval）：最多 {limit_tps}，而有 {waiting_count} 条消息在等待。",
            "threshold": "消费组 {group} 的 {client} 缓存到 {limit_count} 条就停止拉取（pullThresholdForQueue），涉及 {queue_count} 个队列，而有 {waiting_count} 条消息在等待。",
        },
        effect="增加线程或同样的实例作用不大：该配置限制每个队列。",
        advice="除非需要保护下游，请把 pullInterval 设为 0，或把 pullThresholdForQueue 恢复为默认的 1000。",
        explain="读取成员上报的配置。只有消息在等待时它们才构成限制。",
    ),
    "MQ312": Text(
        title="同组成员配置不同",
        what={"": "消费组 {group} 的成员 {setting} 不一致：{sides}。"},
        effect="消息的命运取决于由哪个成员得到。",
        advice="让所有成员使用相同配置；发布过程中会自行消失。",
        explain="比较成员上报的、同组应当一致的配置；线程数不比较。",
    ),
}
