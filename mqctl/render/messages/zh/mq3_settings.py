"""MQ311, MQ312, MQ314: the words of `mqctl.diagnosis.mq3_settings` in Chinese."""

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
    "MQ314": Text(
        title="消费者的配置适得其反",
        what={
            "heartbeat": "消费组 {group} 有 {member_count} 个成员的 heartbeatBrokerInterval={setting_ms}：broker 会移除 {limit_ms} 内没有心跳的客户端。",
            "pulls": "消费组 {group} 有 {member_count} 个成员的 pullInterval={setting_ms}：客户端会放弃 {limit_ms} 内没有拉取的队列。",
            "offsets": "消费组 {group} 有 {member_count} 个成员的 persistConsumerOffsetInterval={setting_ms}：崩溃后，这段时间内消费过的消息会再次消费。",
            "routes": "消费组 {group} 有 {member_count} 个成员的 pollNameServerInterval={setting_ms}：新的 broker 和队列要这么久才能看到。",
            "batch": "消费组 {group} 有 {member_count} 个成员的 {setting}={setting_count}：一批消息不会多于一次拉取的 {limit_count} 条（pullBatchSize）。",
        },
        effect="成员反复消失又回来、队列不断换手、消息重复消费，或配置不起作用。",
        advice="恢复默认值：heartbeatBrokerInterval 和 pollNameServerInterval 为 30 s，persistConsumerOffsetInterval 为 5 s，pullInterval 为 0；调大 consumeMessageBatchMaxSize 时一并调大 pullBatchSize。",
        explain="读取成员上报的配置；所有客户端共有的配置，5.x 客户端会上报，4.x 客户端不会。显示的是成员中最大的值。",
    ),
    "MQ312": Text(
        title="同组成员配置不同",
        what={"": "消费组 {group} 的成员 {setting} 不一致：{sides}。"},
        effect="消息的命运取决于由哪个成员得到。",
        advice="让所有成员使用相同配置；发布过程中会自行消失。",
        explain="比较成员上报的、同组应当一致的配置；线程数不比较。",
    ),
}
