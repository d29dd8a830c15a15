"""MQ120, MQ628, a message of doctor itself: the words of `mqctl.diagnosis.mq1_probe` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ120": Text(
        title="发送被拒绝",
        what={
            "refused": "{broker} 没有接收发往它自己的 topic {topic} 的消息：{reason}。",
            "disk": "{broker} 的磁盘有空间，却没有接收发往它自己的 topic {topic} 的消息：{reason}。",
            "copy": "{broker} 接收了消息，但从节点没有副本（{status}）。",
            "flush": "{broker} 接收了消息，但没有及时刷盘（{status}）。",
            "slow": "{broker} 存储一条小消息用了 {took_ms}。",
        },
        effect="生产者也会遇到：发送失败、转到别处重试，或耗时很长。",
        advice="先看原因。磁盘有空间时，是磁盘写满或队列文件写失败时留下的标志：重启 broker。没有副本时查看从节点和它的 HA 端口（mqctl ha status、mqctl broker reach）。",
        explain="--probe 向每个主节点以自己名字命名的 topic 发送一条几个字节的消息，没有人消费它。拒绝发送的 broker 在配置和指标里看不出来。",
    ),
    "MQ628": Text(
        title="VIP 端口无法访问",
        what={
            "": "{broker} 能接收消息，但它的 listenPort - 2 端口从这里没有响应。",
            "old": "{broker} 能接收消息，但它的 listenPort - 2 端口从这里没有响应；{client_count} 个客户端低于 4.6，可能使用该端口（{clients}）。",
        },
        effect="vipChannelEnabled=true 的客户端会一直等到超时：sendDefaultImpl call timeout。",
        advice="在开放 10911 的地方同时开放 listenPort - 2（10909），或在客户端设置 vipChannelEnabled=false。",
        explain="--probe 从本机连接该端口，看不到别处防火墙的行为。broker 不知道客户端是否使用 VIP 端口；4.6 之前的客户端可能默认使用。",
    ),
}
