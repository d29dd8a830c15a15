"""MQ6, rooms: the words of `mqctl.diagnosis.mq6_rooms` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ611": Text(
        title="名字看不出机房",
        what={
            "": "消费组 {group} 按机房分配 {topic}，但无法判断 {names} 的机房：{queue_count} 个队列停在原主手里，{waiting_count} 条消息在等待。"
        },
        effect="就近策略会在每个实例上对整个 topic 抛出异常：归属停在原状，无论谁加入或离开。",
        advice="按规则命名 broker 和客户端，或者修正规则。",
        explain="该策略需要每个 broker 和每个客户端的机房，缺一个就不行。只有给出规则（--room-rule 或 profile）时才判断。",
    ),
    "MQ612": Text(
        title="机房没有消费者",
        what={
            "": "消费组 {group} 在机房 {room} 没有成员，而那里有 {topic} 的 {queue_count} 个队列（{queues}），{waiting_count} 条消息在等待。持有者：{holders}。"
        },
        effect="就近策略下由其他机房跨机房消费；机房策略下无人消费。",
        advice="恢复该机房的消费者，或者确认其他机房能否承担。",
        explain="比较 topic 的 broker 所在机房与消费组成员所在机房。没有规则（--room-rule 或 profile）时，若所有 broker 的名字各有前缀"
        "（HT-broker-a、CP@broker-a）且不止一种，而所有成员的前缀都在其中，则按前缀判断机房，置信度中等。",
    ),
    "MQ613": Text(
        title="机房负载不均",
        what={
            "": "消费组 {group} 在机房 {room} 的每个消费者负责 {topic} 的 {queues_per_client} 个队列，在机房 {other} 为 {other_queues_per_client} 个。"
        },
        effect="人均队列多的机房会先落后。",
        advice="按机房的队列数分布消费者。",
        explain="当某个机房的人均队列数超过另一个机房的两倍时给出。",
    ),
    "MQ616": Text(
        title="固定的队列清单已与主题不符",
        what={
            "missing": "消费组 {group} 的成员按固定清单取 {topic} 的队列，{queue_count} 个队列中有 {missing_count} 个不在任何在用的清单里：{missing}。",
            "gone": "消费组 {group} 的成员按固定清单持有 {topic} 并不存在的 {gone_count} 个队列：{gone}。",
        },
        effect="CONFIG 策略既不看队列也不看成员：新队列永远等待，对旧队列的拉取失败。",
        advice="更新清单，或改用 AVG。",
        explain="把使用 CONFIG 策略的成员持有的队列与主题路由中的队列比较。下线的成员会带走它的清单。",
    ),
}
