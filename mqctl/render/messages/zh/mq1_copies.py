"""MQ139, MQ140: the words of `mqctl.diagnosis.mq1_copies` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ139": Text(
        title="从节点的元数据与主节点不一致",
        what={
            "": "{broker} 的从节点 {broker_id} 缺少主节点的 {topic_count} 个主题和 {group_count} 个消费组：{names}。",
            "none": "{broker} 的从节点 {broker_id} 没有主节点 {topic_count} 个主题中的任何一个。",
            "alone": "{broker} 的从节点 {broker_id} 有 {log_bytes} 日志，却不认识其中任何主题；主节点已不在。",
            "other": "{broker} 的从节点 {broker_id} 上 {names} 的配置与主节点不同，主节点的配置表最近一次修改在 {age_ms} 之前。",
            "defect": "{broker} 的从节点 {broker_id} 没有消费位点，主节点有 {offset_count} 个。这是 RocketMQ 5.5.0 的缺陷，与本集群的配置无关：从节点解析不了位点表（apache/rocketmq#10284）。",
            "offsets": "{broker} 的从节点 {broker_id} 没有消费位点，主节点有 {offset_count} 个。",
        },
        effect="主节点宕机后，从节点日志里有的消息也无法在那里消费（返回码 17、22 或 26），或者从别的位置重新开始。",
        advice="检查从节点能否连通主节点的两个端口：主题来自 listenPort - 2，消费组和位点来自 listenPort。在从节点上创建的主题会在下一次同步时丢失。如果是 RocketMQ 5.5.0 的缺陷，请把从节点升级到包含修复（apache/rocketmq#10287）的版本；在此之前，主从切换前先复制主节点的 config/consumerOffset.json。",
        explain="4.9 每 10 秒同步一次，5.x 启动 60 秒后才第一次同步，之后每 60 秒一次；在此之前从节点有完整日志，却不认识任何主题。比较的是内容：5.3.3 的从节点使用自己的版本号。5.5.0 缺陷的标志是从节点 broker.log 中每 10 秒一次的 SyncConsumerOffset Exception 和 JSONException。",
    ),
    "MQ140": Text(
        title="从节点连不上主节点的复制端口",
        what={
            "": "{broker} 的从节点 {broker_id} 有主节点的主题和消费组，但没有它的 {missing_bytes} 日志。",
            "connection": "{broker} 的从节点 {broker_id} 已注册，但没有任何连接到主节点的复制端口。",
        },
        effect="没有任何数据被复制。4.9 的 SYNC_MASTER 对发送返回 SLAVE_NOT_AVAILABLE，5.x 在 inSyncReplicas=2 时返回 FLUSH_SLAVE_TIMEOUT。",
        advice="放通 haListenPort（默认为 listenPort + 1），并把 brokerIP2 设置为从节点可达的地址：NAT 和容器注册的往往是别的地址。",
        explain="配置表走请求端口，日志走 haServerAddr，即 brokerIP2:haListenPort。自身或主节点启动一分钟内的从节点不判断。4.9 不提供连接信息，只能从空日志看出。",
    ),
}
