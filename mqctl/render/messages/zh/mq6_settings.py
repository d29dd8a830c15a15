"""MQ64x, settings: the words of `mqctl.diagnosis.mq6_settings` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ640": Text(
        title="配置与正在使用的功能相冲突",
        what={
            "timers": "{broker} 的配置是 {setting}，而 topic {user} 用于定时消息：消息会被立即投递。",
            "timers-stopped": "{broker} 的配置是 {setting}，而 topic {user} 用于定时消息：定时服务停住了。",
            "transactions": "{broker} 的配置是 {setting}，而 {user} 上有事务消息：半消息会被拒绝。",
            "pulling": "{broker} 的配置是 {setting}，而消费组 {user} 的成员自行拉取：它们会被拒绝。",
            "compaction": "{broker} 的配置是 {setting}，而 topic {user} 需要压缩：不会被压缩。",
            "sends": "{broker} 在 {until_time_ms} 之前拒绝所有发送（{setting}）。",
            "cold": "{broker} 的配置是 {setting}，而消费组 {user} 在读早已不在内存中的消息：它的拉取会被限制或拒绝。",
            "rocksdb": "{broker} 的配置是 {setting}，而延迟消息已经超时（{user}）：延迟服务读取队列很慢。",
            "notice": "{broker} 的配置是 {setting}：消费组 {user} 等的成员 20 秒后才知道变化。",
            "flush": "{broker} 的配置是 {setting} 且不等待从节点：断电会丢失最后的消息，包括顺序或事务 topic {user} 的消息。",
            "bitmaps": "{broker} 的配置是 {setting}，但 {user}：SQL92 过滤的位图需要同时开启 enableCalcFilterBitMap、enableConsumeQueueExt 和 enablePropertyFilter。",
        },
        effect="正在使用的功能不会像用户期望的那样工作。",
        advice="用 mqctl broker set 修改配置，或不在该 broker 上使用该功能。有些配置只在启动时读取。",
        explain="把 broker 的开关与它的 topic、成员、位点和延迟级别相比较。没有冲突的配置不报告。",
    ),
    "MQ641": Text(
        title="同一集群的 broker 配置不同",
        what={"": "{cluster} 中 {setting} 不一致：{sides}。"},
        effect="客户端在不同 broker 上遇到不同的行为：拒绝、延迟或丢失随队列时有时无。",
        advice="在所有主节点上设置为同一个值（mqctl cluster config），只在启动时读取的需要重启。",
        explain="比较同一集群的主节点中客户端依赖的配置。文件位置、端口和名称不同不算问题。",
    ),
    "MQ642": Text(
        title="没有人检查的访问密钥",
        what={
            "": "向 {broker} 提供了访问密钥，但它不检查：访问控制是关闭的。",
            "half": "{broker} 只检查客户端是谁，不检查它能做什么（authorizationEnabled=false）：任何用户什么都能做。",
        },
        effect="能连到该 broker 的任何人都可以读、写和修改其中的内容。",
        advice="在每个 broker 的配置中设置 aclEnable=true（4.x），或 authenticationEnabled 和 authorizationEnabled（5.x），并重启。",
        explain="从 broker 自己的配置读取访问控制开关；关闭访问控制的 broker 接受任何密钥。不读取访问文件中的规则。",
    ),
    "MQ643": Text(
        title="主节点等待的从节点不存在",
        what={
            "": "{broker} 是同步主节点，每条消息要等 {wanted_count} 份副本，而该名称下只注册了 {process_count} 个进程。"
        },
        effect="发送方收到 SLAVE_NOT_AVAILABLE 或同步副本不足；消息没有副本。",
        advice="恢复从节点；如果本来就没有，请设置 brokerRole=ASYNC_MASTER。",
        explain="brokerRole=SYNC_MASTER 时，从节点收到后发送才算完全成功。",
    ),
}
