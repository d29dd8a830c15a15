"""Strategies, and what comes and goes between two looks, in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ212": Text(
        title="同一消费组的成员使用不同的分配策略",
        what={"": "消费组 {group} 的成员用 {strategy_count} 种策略分配队列。{sides}。"},
        effect="各自按自己的规则都没错，结果有的队列有两个所有者而被重复消费，有的没有所有者。",
        advice="统一策略并重启全部成员。",
        explain="策略不会发给 broker，Java 客户端和 mqctl 的客户端会在自己的设置里写出策略。不作答的成员由 mqctl allocation show 按其持有的队列推断。",
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
    "MQ415": Text(
        title="没有位点的消费组从末尾开始",
        what={
            "": "消费组 {group} 在 {topic} 的 {queue_count} 个队列（{queues}）没有位点，从末尾开始：已存储的 {skipped_count} 条消息不会给它。"
        },
        effect="在它的第一个消费者之前存储的消息永远不会投递给它。",
        advice="如果需要这些消息，现在就按时间重置。",
        explain="CONSUME_FROM_LAST_OFFSET 在最早的消息已被删除的队列上从末尾开始。队列还保留第一条消息时，broker 对没有位点的组回答 0，全部消息都会投递。",
    ),
    "MQ507": Text(
        title="顺序主题的队列数变了",
        what={"": "顺序主题 {topic} 原有 {earlier_queue_count} 个队列，现有 {queue_count} 个。"},
        effect="按哈希选择队列时，{moved_share} 的键会换到别的队列，新消息可能超过旧消息。",
        advice="先停生产者，等消费者消化完再调整，固定的顺序配置可以保持队列数不变。",
        explain="键的队列是哈希对队列数取模：从 n 变为 m 时有 1 - min(n, m) / lcm(n, m) 的键移动。需要两次观察。",
    ),
    "MQ614": Text(
        title="由第一条消息创建、只在一个 broker 上的主题",
        what={
            "": "主题 {topic} 只在 {broker} 上（共 {broker_count} 个主节点），有 {queue_count} 个队列：是第一次发送时在那里创建的。"
        },
        effect="全部流量压在一个 broker 上，它一失效主题就失效。",
        advice="在所有 broker 上创建该主题，并设置 autoCreateTopicEnable=false。",
        explain="开启 autoCreateTopicEnable 时，broker 会创建发给它的主题，队列数由生产者要求。生产者沿用已有路由时，其他 broker 对此一无所知。",
    ),
    "MQ617": Text(
        title="原有的 broker 不见了",
        what={
            "held": "所有 NameServer 都已没有 {broker}，成员仍持有它的 {held_count} 个队列。",
            "ordered": "所有 NameServer 都没有 {broker}，而 {topic} 的顺序配置里有它。",
            "seen": "所有 NameServer 都已没有 {broker}，它在 {last_seen_time_ms} 还注册着，地址 {last_address}。",
        },
        effect="它存储的消息在恢复之前取不到：是延迟，不是丢失。发送和消费在其余 broker 上继续。",
        advice="检查它的进程和机器是否还在。如果是有意下线，请写入 --known 的文件，最后一次见到七天之后会被忘记。",
        explain="连接断开或 120 秒没有上报的 broker 会被 NameServer 摘除，不留痕迹。查找成员仍持有其队列、顺序配置提到、本次运行前一次观察时还在、或七天内从这里运行 doctor 时见过的 broker。",
    ),
    "MQ615": Text(
        title="曾经连接的生产者不见了",
        what={"": "生产组 {group} 在 {window_ms} 前有 {earlier_count} 个客户端，现在一个也没有。"},
        effect="它不再发送，它留下的未决事务也无法回查。",
        advice="查清是否有意停止。",
        explain="比较两次观察时所有 broker 上的生产者，间隔两分钟以上：broker 会在这段时间后忘记沉默的客户端。",
    ),
    "MQ716": Text(
        title="定时消息读取过晚",
        what={"": "{broker} 的定时器落后时钟 {behind_ms}，{waiting_count} 条消息等待进入时间轮。"},
        effect="定时消息会晚同样久才投递。",
        advice="查看 broker 的磁盘，以及同一秒到期的消息数量。",
        explain="5.x 的 timerReadBehind：定时器正在读取的秒与时钟相比。超过十秒就是晚了。",
    ),
}
