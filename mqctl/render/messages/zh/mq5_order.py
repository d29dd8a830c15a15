"""MQ5, order: the words of `mqctl.diagnosis.mq5_order` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ501": Text(
        title="顺序消费者在等待队列锁",
        what={"": "{group} 的 {client} 在 {queue_count} 个队列上没有锁：{queues}。"},
        effect="在前一个归属者的锁到期之前（最多一分钟），这些队列停止消费。",
        advice="等待 80 s；如果持续存在，请查找只续锁而不消费的实例。",
        explain="broker 每次把队列锁给一个 client id 60 s。宕机的实例会把锁保留到期。",
    ),
    "MQ502": Text(
        title="顺序消费者卡住",
        what={"": "{group} 的 {client} 已有 {idle_ms} 没有从监听器返回：{queues}。"},
        effect="{queue_count} 个队列停止消费；即使归属已转移，它也不放手。",
        advice="抓取堆栈，然后重启该实例。",
        explain="队列已放弃却无法解锁，或者消息交给监听器已超过一分钟。",
    ),
    "MQ503": Text(
        title="一条消息阻塞了顺序队列",
        what={"": "{group} 的 {client} 反复重试 {queues} 中位点 {queue_offset} 的消息。"},
        effect="{cached_count} 条消息以及后续所有消息都在等它。",
        advice="修复监听器，或者给 maxReconsumeTimes 设置上限，届时该消息会成为死信。若按 key 保序消费，则只有该消息的 key 需要等待。",
        explain="顺序监听器失败后会以同一条消息再次调用，默认最多 2147483647 次。",
    ),
    "MQ504": Text(
        title="队列锁没有续期",
        what={"": "{group} 的 {client} 上一次为 {queues} 续锁是在 {idle_ms} 之前。"},
        effect="30 s 之后消费者自己停止，60 s 之后其他实例可以接管。",
        advice="检查客户端能否连到这些队列的主节点。如果它的拉取时间也同样陈旧（mqctl group member），则是整个进程暂停，或其时钟落后。",
        explain="每 20 s 向主节点续锁；从节点不提供锁。",
    ),
    "MQ505": Text(
        title="顺序 topic 被并发消费",
        what={
            "": "topic {topic} 声明为顺序，但消费组 {group} 的 {member_count} 个实例中有 {concurrent_count} 个并发消费它。",
            "mixed": "消费组 {group} 对 {topic} 的消费方式不一致：{orderly_count} 个实例顺序消费，{concurrent_count} 个并发消费（{clients}）。",
        },
        effect="队列归并发实例所有时，同一个 key 的消息会被多个线程同时处理。混用时每次重平衡都会变化：并发实例不加锁，期间可能有两个实例消费同一队列；失败的消息进入重试 topic，而不是阻塞队列。",
        advice="所有实例都使用顺序监听器，或者按 key 保序的监听器；如果不需要顺序，则全部改为并发。混用通常是同一程序的两个版本，或两个程序使用了同一个消费组名：用 mqctl group members 对比。",
        explain="topic 声明为顺序，或者组内有实例顺序消费它时，所有实例都应使用顺序监听器：并发监听器会并行处理同一队列的消息，也不加锁。以实例自己上报的 PROP_CONSUMEORDERLY 为准；没有上报的实例不计入。",
    ),
    "MQ506": Text(
        title="顺序 topic 失去一个 broker",
        what={"": "{topic} 的路由缺少 {brokers}，且没有顺序配置固定其队列。"},
        effect="发送方把 key 分散到更少的队列：同一个 key 的消息落在两个队列中。",
        advice="恢复该 broker；如果 mqctl broker list 中仍有它，则是 topic 在其上被删除，请重建；设置 ORDER_TOPIC_CONFIG，让发送方等待而不是改换队列。",
        explain="选择器用 key 的哈希对路由中的队列数取模。顺序配置在 broker 缺席时保持队列数不变。",
    ),
    "MQ508": Text(
        title="顺序配置与 topic 不符",
        what={
            "": "{topic} 的顺序配置（{conf}）中的队列数超过了 topic 在 {brokers} 上的队列数。",
            "unreadable": "{topic} 的顺序配置是 {conf}；生产者只认 BROKER:QUEUES;BROKER:QUEUES 的格式。",
        },
        effect="发送到不存在的队列会被拒绝；生产者读不懂的配置会让它得不到路由，每次发送都失败。",
        advice="在所有 NameServer 上改正：mqctl topic order。",
        explain="NameServer 以 orderMessageEnable 运行时，生产者从 ORDER_TOPIC_CONFIG 而不是 topic 的配置得到队列。",
    ),
    "MQ507": Text(
        title="顺序主题的队列数变了",
        what={"": "顺序主题 {topic} 原有 {earlier_queue_count} 个队列，现有 {queue_count} 个。"},
        effect="按哈希选择队列时，{moved_share} 的键会换到别的队列，新消息可能超过旧消息。",
        advice="先停生产者，等消费者消化完再调整，固定的顺序配置可以保持队列数不变。",
        explain="键的队列是哈希对队列数取模：从 n 变为 m 时有 1 - min(n, m) / lcm(n, m) 的键移动。需要两次观察。",
    ),
}
