"""What only a live cluster shows, in Chinese: parallelism, order, movement, routes, the health of brokers."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ110": Text(
        title="broker 磁盘将满",
        what={
            "early": "{broker} 的磁盘已用 {disk_used_share}：文件会提前删除。",
            "forced": "{broker} 的磁盘已用 {disk_used_share}：无论多新都会删除文件。",
            "refused": "{broker} 的磁盘已用 {disk_used_share}：拒绝发送。",
        },
        effect="尚未消费的消息会被删除；超过 90% 之后无法发送任何消息。",
        advice="扩容磁盘或调小 fileReservedTime；检查哪些消费组的积压即将过期。",
        explain="broker 平时在固定时刻删除，75% 起随时删除，85% 起不看文件年龄，90% 起对发送返回 14。",
    ),
    "MQ111": Text(
        title="broker 的 page cache 繁忙",
        what={"": "{broker} 上一次追加写占用 page cache 锁已达 {lock_ms}。"},
        effect="超过一秒后 broker 以返回码 2 拒绝发送。",
        advice="检查该机器的磁盘 I/O、交换区和内存压力。",
        explain="pageCacheLockTimeMills 是正在进行的追加写的持续时间；正常情况不到一毫秒。",
    ),
    "MQ112": Text(
        title="请求在 broker 中排队",
        what={
            "send": "{broker} 上的发送请求已等待 {wait_ms}，共 {waiting_count} 个。",
            "pull": "{broker} 上的拉取请求已等待 {wait_ms}，共 {waiting_count} 个。",
            "query": "{broker} 上的查询请求已等待 {wait_ms}，共 {waiting_count} 个。",
        },
        effect="等待过久的请求会收到返回码 2（繁忙），生产者不会重试这种错误。",
        advice="查清是什么拖慢了 broker：磁盘、刷盘方式、垃圾回收；否则分散负载。",
        explain="查看发送（上限 200 ms）、拉取（5 s）和查询队列中最早请求的等待时间。",
    ),
    "MQ113": Text(
        title="消费队列落后于提交日志",
        what={"": "{broker} 的提交日志中有 {behind_bytes} 尚未分发到消费队列。"},
        effect="这些消息已存储，但消费者还看不到。",
        advice="检查消费队列所在的磁盘；如果刚启动，请等待分发追上。",
        explain="dispatchBehindBytes 是提交日志末尾与已分发位置之间的距离。",
    ),
    "MQ114": Text(
        title="追加写缓慢",
        what={"": "{broker} 上每一百次追加写就有一次超过 {append_ms}。"},
        effect="生产者要等待同样长的时间，三秒后超时。",
        advice="检查磁盘延迟和刷盘方式。",
        explain="取 5.x 提供的 putLatency99；上限为 50 ms。",
    ),
    "MQ115": Text(
        title="堆外缓冲耗尽",
        what={"": "{broker} 的 transientStorePool 只剩 {buffer_count} 个缓冲。"},
        effect="在缓冲写回之前，发送会被拒绝。",
        advice="调大 transientStorePoolSize，或查清提交为何缓慢。",
        explain="开启 transientStorePoolEnable 后消息先写入缓冲池；池空时 broker 返回 2。",
    ),
    "MQ116": Text(
        title="从节点严重落后",
        what={"": "{broker} 的从节点 {broker_id} 落后主节点 {behind_bytes}。"},
        effect="同步双写的主节点会对发送返回 11；主节点宕机时，从节点缺少的部分会丢失。",
        advice="检查两者之间的网络以及从节点的磁盘。",
        explain="比较两份提交日志的末尾；超过 256 MiB 时同步主节点会放弃该从节点。",
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
        advice="增加队列或改为按 key 保序可以分散负载；增加线程不行。",
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
        advice="抓取消费线程的堆栈：它们在等待某个东西。",
        explain="缓存中有消息而一分钟内没有消费。并发消费提交最小的未完成位点，因此一条卡住的消息就足够了。",
    ),
    "MQ308": Text(
        title="消费者停止拉取",
        what={"": "{group} 的 {client} 已有 {idle_ms} 没有拉取 {queues}。"},
        effect="这些队列无人消费，其他实例也不能接管。",
        advice="检查消费者是否被挂起；否则重启该实例。",
        explain="没有任何阈值限制，却两分钟没有拉取。",
    ),
    "MQ309": Text(
        title="队列无人消费",
        what={
            "": "消费组 {group} 的 {topic} 共 {queue_count} 个队列，有 {orphan_count} 个无人消费：{queues}。",
            "topic": "消费组 {group} 的 {topic} 共 {queue_count} 个队列，有 {orphan_count} 个无人消费：{queues}。它们分给了没有订阅的 {clients}。",
        },
        effect="其中积压 {waiting_count} 条消息，新消息也会一直留在那里。",
        advice="让所有成员的订阅一致并使用同一种策略；查找其他成员看不到的成员。",
        explain="比较路由中的可读队列与每个实例报告的持有队列。仅当全部实例都已应答且两分钟内没有启动过时给出。",
    ),
    "MQ310": Text(
        title="队列被两个实例同时消费",
        what={"": "消费组 {group} 中 {topic} 的 {double_count} 个队列被重复持有：{queues}，持有者 {clients}。"},
        effect="这些队列的消息会消费两次，双方还会互相覆盖位点。",
        advice="检查同一组内是否有两种策略，或者 broker 看到的成员不一致。",
        explain="实例之间没有协商：各自按所见计算。列表或策略不同就会重叠。",
    ),
    "MQ410": Text(
        title="位点停滞",
        what={
            "": "消费组 {group} 在 {broker} 上 {topic} 的队列 {queue_id} 停在 {consumer_offset}，而 {window_ms} 内新到 {arrived_count} 条消息。"
        },
        effect="积压 {lag_count} 条消息。如果是某条消息卡住了位点，重启会重复其后的全部消息。",
        advice="找到该队列的归属实例并抓取堆栈。",
        explain="两次观察相隔至少一分钟：队列在增长，位点没有前进，而消费组有在线成员。",
    ),
    "MQ411": Text(
        title="位点回退",
        what={
            "": "消费组 {group} 在 {broker} 上 {topic} 的队列 {queue_id} 于 {window_ms} 内从 {earlier_offset} 退回到 {consumer_offset}。"
        },
        effect="{repeated_count} 条消息会再次消费。",
        advice="如果没有人重置，请查找持有同一队列的两个实例。",
        explain="客户端只会增大位点；回退来自重置、重放或第二个归属者。",
    ),
    "MQ412": Text(
        title="消费失败",
        what={"": "消费组 {group} 在 {topic} 上有 {failed_share} 的消费失败。"},
        effect="每次失败都会以重试的形式回来并增加负载；最后一次失败后成为死信。",
        advice="查看监听器的错误以及重试消息中的原因。",
        explain="汇总各实例报告的速率；失败占 1% 以上即视为消费失败。",
    ),
    "MQ413": Text(
        title="死信在增长",
        what={"": "{window_ms} 内有 {new_count} 条消息进入 {topic}。"},
        effect="它们已失败到允许的次数，不会再被消费。",
        advice="先排除原因，再重新投递。",
        explain="比较两次观察之间死信队列的末尾。",
    ),
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
        advice="修复监听器，或者给 maxReconsumeTimes 设置上限，届时该消息会成为死信。",
        explain="顺序监听器失败后会以同一条消息再次调用，默认最多 2147483647 次。",
    ),
    "MQ504": Text(
        title="队列锁没有续期",
        what={"": "{group} 的 {client} 上一次为 {queues} 续锁是在 {idle_ms} 之前。"},
        effect="30 s 之后消费者自己停止，60 s 之后其他实例可以接管。",
        advice="检查客户端能否连到这些队列的主节点。",
        explain="每 20 s 向主节点续锁；从节点不提供锁。",
    ),
    "MQ505": Text(
        title="顺序 topic 被并发消费",
        what={"": "消费组 {group} 的 {member_count} 个实例中有 {concurrent_count} 个并发消费 {topic}。"},
        effect="同一个 key 的消息会被多个线程同时处理。",
        advice="使用顺序监听器，或者按 key 保序的监听器。",
        explain="该 topic 声明为顺序；并发监听器会并行处理同一队列的消息。",
    ),
    "MQ506": Text(
        title="顺序 topic 失去一个 broker",
        what={"": "{topic} 的路由缺少 {brokers}，且没有顺序配置固定其队列。"},
        effect="发送方把 key 分散到更少的队列：同一个 key 的消息落在两个队列中。",
        advice="恢复该 broker；设置 ORDER_TOPIC_CONFIG，让发送方等待而不是改换队列。",
        explain="选择器用 key 的哈希对路由中的队列数取模。顺序配置在 broker 缺席时保持队列数不变。",
    ),
    "MQ605": Text(
        title="写权限被擦除",
        what={"": "{name_server} 显示 {broker} 的 {topic_count} 个 topic 不可写，例如 {topic}。"},
        effect="询问该名称服务器的生产者不会向这个 broker 发送。",
        advice="维护结束后请恢复（mqadmin addWritePerm）。",
        explain="该标记只存在于一个名称服务器的内存中，重启或 topic 变更后消失。",
    ),
    "MQ606": Text(
        title="topic 只在部分 broker 上",
        what={"": "{topic} 在 {cluster} 的 {broker_count} 个 broker 中缺少 {missing_count} 个：{brokers}。"},
        effect="这些 broker 不承担它的负载；自动创建会留下这样的 topic。",
        advice="在集群的所有 broker 上创建它。",
        explain="比较路由与集群的主节点。",
    ),
    "MQ607": Text(
        title="各 broker 的队列数不同",
        what={"": "{topic} 在各 broker 上有 {least_queue_count} 到 {most_queue_count} 个队列（{counts}）。"},
        effect="负载随队列数分布。",
        advice="除非有意为之，请让所有 broker 的队列数相同。",
        explain="发送方轮流使用队列，队列多一倍的 broker 收到的消息也多一倍。",
    ),
    "MQ608": Text(
        title="名称服务器不一致",
        what={"": "{name_server_count} 个名称服务器中，{name_servers} 给出的 {topic} 路由不同。"},
        effect="客户端看到的队列取决于它询问的是哪一个。",
        advice="检查每个 broker 能否连到每个名称服务器。",
        explain="名称服务器之间互不通信，每个 broker 分别注册。再看一次可以区分故障与正在进行的注册。",
    ),
    "MQ609": Text(
        title="主节点缺失",
        what={"": "{broker} 有 {slave_count} 个从节点而没有主节点。"},
        effect="消息可以读取；无法发送和加锁，提交的位点可能被覆盖。",
        advice="恢复主节点。",
        explain="查找有地址但没有 id 0 的 broker 名。",
    ),
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
        explain="比较 topic 的 broker 所在机房与消费组成员所在机房。",
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
    "MQ610": Text(
        title="broker 被关闭",
        what={"": "{broker} 的权限是 {perm}。"},
        effect="缺少的权限以返回码 16 拒绝，无论 topic 如何设置。",
        advice="维护结束后把 brokerPermission 设为 6。",
        explain="brokerPermission 优先于所有 topic：4 可读，2 可写，6 可读写。",
    ),
}
