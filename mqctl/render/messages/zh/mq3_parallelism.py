"""MQ3, parallelism: the words of `mqctl.diagnosis.mq3_parallelism` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ301": Text(
        title="热点队列：某个队列的消息远多于其他队列",
        what={
            "key": "{topic} 的队列 {queue_id} 占全部消息的 {queue_share}，其中 {key_share} 的 key 是 {key}。",
            "queue": "{topic} 的队列 {queue_id} 占全部消息的 {queue_share}（{message_count} 条，平均每个队列 {mean_count} 条）。",
        },
        effect="该队列只能由一个消费者实例承担，增加实例没有用。",
        advice="把热点 key 打散（顺序允许时加盐），或检查队列选择器的哈希算法。顺序消费组的一个队列里有许多 key 时，可改为按 key 保序消费，不同 key 并行处理。后来新增的队列比旧队列少并非故障：用 mqctl topic stats 查看增长的是否仍是同一个队列。",
        explain="消息数超过该 topic 队列平均值两倍的队列视为热点。key 在整个队列上均匀抽样。",
    ),
    "MQ302": Text(
        title="实例多于队列",
        what={"": "消费组 {group} 有 {member_count} 个实例，而 {topic} 只有 {queue_count} 个队列。"},
        effect="有 {idle_count} 个实例在该 topic 上无事可做；再加实例没有用处。",
        advice="增加队列（只对新消息有效），或者增加线程而不是实例。",
        explain="一个队列只有一个归属。无论哪种策略，超出可读队列数的实例都会空闲。",
    ),
    "MQ303": Text(
        title="队列数与实例数不成倍数",
        what={"": "消费组 {group} 的 {member_count} 个实例分配 {topic} 的 {queue_count} 个队列。"},
        effect="有 {doubled_count} 个实例负责两个队列，其余只负责一个：整个组的速度取决于最慢的实例。",
        advice="让队列数成为实例数的倍数，至少两倍。",
        explain="当队列多于实例但不足两倍时给出。",
    ),
    "MQ304": Text(
        title="线程上限不起作用",
        what={
            "": "{group} 的 {client} 以 {thread_min_count} 个线程缓存了 {cached_count} 条消息；上限 {thread_max_count} 永远达不到。"
        },
        effect="消费者比配置看上去要慢。",
        advice="把 consumeThreadMin 设为想要的线程数。",
        explain="线程池前面的队列是无界的，因此线程数不会超过最小值。",
    ),
    "MQ305": Text(
        title="顺序消费者的线程多于队列",
        what={"": "{group} 的 {client} 有 {thread_count} 个线程，却只有 {queue_count} 个队列。"},
        effect="多余的线程不会工作：顺序队列同一时刻只由一个线程消费。",
        advice="增加队列或改为按 key 保序消费（每个 key 一个线程，而不是每个队列一个线程）可以分散负载；增加线程不行。",
        explain="只对缓存已满的消费者给出。",
    ),
    "MQ306": Text(
        title="缓存已满，消费者停止拉取",
        what={
            "count": "{group} 的 {client} 在一个队列上缓存了 {cached_count} 条消息，不再拉取 {queues}。",
            "size": "{group} 的 {client} 在一个队列上缓存了 {cached_bytes}，不再拉取 {queues}。",
            "span": "{group} 的 {client} 缓存的消息首尾相差 {span_count} 个位点，不再拉取 {queues}。",
        },
        effect="消费速度取决于监听器而不是网络；若因跨度受限，则取决于最慢的那条消息。",
        advice="查看消费线程在做什么。",
        explain="客户端在一个队列达到 1,000 条、100 MiB，或首尾未完成位点相差 2,000 时停止拉取。",
    ),
    "MQ307": Text(
        title="消费被阻塞",
        what={"": "{group} 的 {client} 缓存了 {cached_count} 条消息，已有 {idle_ms} 没有完成任何一条，涉及 {queues}。"},
        effect="位点停在 {first_offset}；重启会把其后的消息全部重新投递。",
        advice="抓取消费线程的堆栈，区分几种外表相同的情况：线程在等待、线程在处理一条耗时很长的消息、线程空闲但已处理的消息没有移除。",
        explain="缓存中有消息而一分钟内没有消费。并发消费提交最小的未完成位点，因此一条卡住的消息就足够了。线程还没有轮到的队列属于 MQ315。",
    ),
    "MQ308": Text(
        title="消费者停止拉取",
        what={"": "{group} 的 {client} 已有 {idle_ms} 没有拉取 {queues}。"},
        effect="这些队列无人消费。120 秒没有拉取后，消费者会自行放弃并重新获取这些队列；原因不除则无济于事。",
        advice="用线程栈查看拉取线程在做什么，若已消失则重启该实例。如果该实例上报的所有时间都同样陈旧，请先核对它与本机的时钟。",
        explain="没有任何阈值限制，却一分钟没有拉取。被挂起的 Java 消费者名义上仍在拉取，不属此列。时间由客户端提供：时钟落后看起来也一样，那时它的所有时间都同样陈旧。",
    ),
    "MQ315": Text(
        title="队列在等待忙于其他队列的线程",
        what={
            "": "{group} 的 {client} 缓存了 {queues} 的 {cached_count} 条消息，已有 {idle_ms} 没有完成任何一条：{thread_count} 个消费线程都在处理其他队列。"
        },
        effect="并没有卡住：这些队列依次排队等待，轮到之前延迟会继续增大。",
        advice="增加消费线程或实例，或让监听器更快；重启只会把已缓存的消息重新投递。",
        explain="与 MQ307 相同，但该实例的所有线程都在工作：每秒消息数乘以每条耗时等于线程池大小。若有线程挂住，这里就会缺少它。",
    ),
}
