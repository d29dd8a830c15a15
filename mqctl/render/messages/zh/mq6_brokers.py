"""MQ6, brokers: the words of `mqctl.diagnosis.mq6_brokers` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ615": Text(
        title="曾经连接的生产者不见了",
        what={"": "生产组 {group} 在 {window_ms} 前有 {earlier_count} 个客户端，现在一个也没有。"},
        effect="它不再发送，它留下的未决事务也无法回查。",
        advice="查清是否有意停止。如果进程仍在运行，则是与 broker 断开：查看其日志，并在其机器上执行 mqctl broker reach。",
        explain="比较两次观察时所有 broker 上的生产者，间隔两分钟以上：broker 会在这段时间后忘记沉默的客户端。",
    ),
    "MQ617": Text(
        title="原有的 broker 不见了",
        what={
            "held": "所有 NameServer 都已没有 {broker}，{holder_count} 个消费组的成员仍持有它的 {held_count} 个队列。",
            "expected": "所有 NameServer 都没有 {broker}，而它属于 {expected_by}。",
            "expected-counted": "所有 NameServer 都没有 {broker}，而它属于 {expected_by}：它的 {queue_count} 个队列取不到，涉及 {group_count} 个消费组。",
            "expected-queues": "所有 NameServer 都没有 {broker}，而它属于 {expected_by}：它的 {queue_count} 个队列取不到。",
            "ordered": "所有 NameServer 都没有 {broker}，而 {topic} 的顺序配置里有它。",
            "seen": "所有 NameServer 都已没有 {broker}，它在 {last_seen_time_ms} 还注册着，地址 {last_address}。",
            "seen-counted": "所有 NameServer 都已没有 {broker}，它在 {last_seen_time_ms} 还注册着，地址 {last_address}：它的 {queue_count} 个队列取不到，涉及 {group_count} 个消费组。",
            "seen-queues": "所有 NameServer 都已没有 {broker}，它在 {last_seen_time_ms} 还注册着，地址 {last_address}：它的 {queue_count} 个队列取不到。",
        },
        effect="它存储的消息在恢复之前取不到：是延迟，不是丢失。发送和消费在其余 broker 上继续。",
        advice="检查它的进程和机器是否还在。如果是有意下线，请写入 --known 的文件；profile 里写明了它时，用 `mqctl profile add --brokers` 只写其余的 broker。只是见过的，七天后不再提起。",
        explain="连接断开或 120 秒没有上报的 broker 会被 NameServer 摘除，不留痕迹。查找成员仍持有其队列、顺序配置提到、本地集群启动时就有、profile 里写明（`mqctl profile add --brokers`）、本次运行前一次观察时还在、或七天内从这里查看时见过的 broker；最后一种超过一天只是警告。",
    ),
}
