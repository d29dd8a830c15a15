"""Kafka's terms in Chinese: the words beside those of the English page, term by term."""

from __future__ import annotations

from dataclasses import replace

from mqctl.render.messages.en.kafka import TERMS as ENGLISH

_TEXTS: dict[str, tuple[str, str]] = {
    "topic": (
        "Topic",
        "概念相同。RocketMQ 的 Topic 在每个 Broker 上各有若干队列（通常 4 或 8 个），读队列数与写队列数分开设置；"
        "同一 Broker 的所有 Topic 共用一个 CommitLog，几千个 Topic 也没有多少代价。",
    ),
    "partition": (
        "消息队列（Message Queue）",
        "队列由 Broker 名和队列号共同标识（broker-a/3），不是整个 Topic 统一编号。队列只是 CommitLog 的索引，不是独立的日志。"
        "Broker 宕机后它的队列会从路由中消失，生产者继续写其他 Broker 的队列。",
    ),
    "parallelism": (
        "线程与队列",
        "Kafka：同时工作的只有 min(分区数, 消费者数) 个单线程消费者。RocketMQ 并发消费：凡分到队列的客户端，其全部消费线程"
        "（默认各 20 个）都可工作，队列少也能带动很多线程。RocketMQ 顺序消费：各客户端 min(线程数, 队列数) 之和。POP：不受队列数限制。",
    ),
    "consumer group": (
        "消费组",
        "组内所有成员的 Topic 与 Tag 订阅必须一致：RocketMQ 客户端把组内的每个 Topic 分给全体成员，没有订阅它的成员也占一份。"
        "Kafka 只在订阅者之间分配。订阅不一致时，RocketMQ 会有队列无人消费。",
    ),
    "group coordinator": (
        "由客户端自己完成",
        "没有协调者：Broker 给出成员列表，每个客户端用同样的策略自行计算。成员列表不一致时，队列会在一段时间内被重复分配或无人消费。"
        "POP 模式下由 Broker 分配消息。",
    ),
    "assignor": (
        "负载均衡策略",
        "单个 Topic 时 range 等于 AVG；roundrobin 等于 AVG_BY_CIRCLE，但它跨 Topic 连续轮转，而 RocketMQ 每个 Topic 重新开始。"
        "sticky 没有对应策略：CONSISTENT_HASH 迁移少，但不够均匀。MACHINE_ROOM_NEARBY 相当于 Kafka 的机架感知。"
        "模拟 sticky 时，重平衡后的负载和迁移数与 Kafka 相同；负载相同的成员之间，队列归谁可能不同。",
    ),
    "rebalance": (
        "重平衡（Rebalance）",
        "每个客户端每 20 秒执行一次，成员变化时 Broker 也会通知。没有屏障：新的消费者已开始拉取，原来的可能仍在处理，"
        "因此在途消息会重复消费。顺序消费组在 Broker 端给队列加锁，每次 60 秒。",
    ),
    "offset": (
        "消费位点",
        "由各 Broker 按消费组保存自己队列的位点（consumerOffset.json 或 RocksDB），不在 Topic 里。客户端每 5 秒提交一次所有线程都已处理完的位置。",
    ),
    "log end offset": ("Broker 位点", "队列的最大位点：下一条消息的位置。积压 = Broker 位点 − 消费位点。"),
    "lag": (
        "消息堆积",
        "按队列计算，公式相同。不含消费失败的消息（在重试 Topic 或延时级别中等待），也不区分已拉取未处理完的消息（在途）。",
    ),
    "auto.offset.reset": (
        "consumeFromWhere",
        "只对没有位点的消费组有效。CONSUME_FROM_LAST_OFFSET 从末尾开始；但若队列的第一条消息还在，且 Broker 的日志都在内存中，则从头开始："
        "新消费组会读到新 Topic 的全部消息。",
    ),
    "seek": (
        "重置消费位点",
        "成员在线时由 Broker 通知每个客户端新位点；mqctl 先出计划，再证明结果，并可撤销。Kafka 的工具要求消费组先停止。",
    ),
    "key": (
        "ShardingKey 与 Keys",
        "Kafka 的 key 决定分区。在 RocketMQ 中起这个作用的是 ShardingKey（或生产者代码中的队列选择器）；Keys 只是查消息用的索引，"
        "不决定队列。没有选择器时，同一个 key 的消息会轮流写入所有队列。",
    ),
    "ordering": (
        "顺序消费",
        "Kafka：一个分区由一个线程读取。RocketMQ：只有顺序监听器（MessageListenerOrderly）保证队列内有序，并发监听器会把消息分给 20 个线程。"
        "顺序消费失败时阻塞该队列，并在原地重试。",
    ),
    "poll": (
        "拉取与推送",
        "客户端以长轮询拉取；Push 消费者代替应用拉取，并在消费线程上调用监听器。单个队列缓存超过 1,000 条或 100 MiB 时触发流控，暂停拉取。",
    ),
    "max.poll.interval.ms": (
        "consumeTimeout",
        "Kafka 的成员太久不 poll 就会失去分区。RocketMQ 客户端只要有心跳就一直持有队列，无论监听器卡住多久；并发消费超过 15 分钟的消息会被发回重试。",
    ),
    "session.timeout.ms": (
        "连接过期时间",
        "心跳每 30 秒一次；连接关闭时 Broker 立即移除客户端，没有声息的客户端在 120 秒后移除。",
    ),
    "retry topic": (
        "%RETRY% Topic",
        "内置：消费失败的消息从消费组自己的重试 Topic 中重新投递 16 次，间隔 10 秒、30 秒、1 分钟，直到 2 小时。Kafka 需由应用或框架实现。",
    ),
    "dead letter queue": ("%DLQ% Topic", "内置：重试用尽后，Broker 把消息移入该消费组的死信 Topic，默认没有人读取。"),
    "transaction": (
        "事务消息",
        "同名而不同义。Kafka 的事务让多次写入和位点提交在 Kafka 内部保持原子性。RocketMQ 把一条消息与生产者的本地事务绑定：提交前消费者不可见，"
        "长时间没有结果时 Broker 会回查。",
    ),
    "idempotent producer": (
        "没有对应功能",
        "发送超时的消息可能已经存储，重发就会重复。消费者需按唯一 ID 或自己的业务 key 去重。",
    ),
    "delay": (
        "延时级别或定时消息",
        "Kafka 没有。RocketMQ 4.9 有 18 个级别（1 秒到 2 小时），5.x 支持 3 天内的任意时间。",
    ),
    "filter": (
        "Tag 或 SQL92 表达式",
        "Kafka 消费者读取全部消息。RocketMQ 的 Broker 按 Tag 的哈希过滤；enablePropertyFilter 打开时也可按属性表达式过滤。"
        "被过滤的消息视为已消费，不会再来。",
    ),
    "retention": (
        "fileReservedTime",
        "按整个 Broker 而不是按 Topic：超过 72 小时的 CommitLog 文件在 04:00 删除，磁盘使用达到 75 % 时提前删除，与是否消费无关。",
    ),
    "compaction": (
        "Compaction Topic（5.x）",
        "5.1 起可用 Topic 属性 cleanup.policy=COMPACTION，很少使用。",
    ),
    "segment": ("MappedFile", "CommitLog 每个文件 1 GiB；ConsumeQueue 每个文件 300,000 条，每条 20 字节。"),
    "replica": (
        "从节点（Slave）",
        "从节点复制主节点的整个 CommitLog，而不是单个分区。没有 Controller（5.x）时它不会成为主节点：主节点不可用期间消费者从它读取，"
        "该 Broker 名下无法写入。",
    ),
    "acks": (
        "SYNC_MASTER、SYNC_FLUSH",
        "在 Broker 上设置，不由生产者决定：SYNC_MASTER 等待从节点，SYNC_FLUSH 等待刷盘。发送结果可能是 FLUSH_SLAVE_TIMEOUT 或 "
        "SLAVE_NOT_AVAILABLE：主节点已存储，其他未确认。",
    ),
    "isr": (
        "SyncStateSet（Controller）",
        "仅 5.x 的 Controller 模式才有。其他情况下，从节点的日志末尾接近主节点即视为同步。",
    ),
    "controller": (
        "NameServer",
        "NameServer 在内存中保存路由，每个 Broker 每 30 秒上报一次；NameServer 之间互不通信，也不选主。选主的是 RocketMQ 5.x 自己的 Controller。",
    ),
    "share group": (
        "POP 消费",
        "KIP-932 与 POP 思路相同：Broker 逐条分发消息，分发后一段时间内不可见，并逐条确认；成员数可以多于队列数。RocketMQ 从 5.0 起支持。",
    ),
    "headers": ("用户属性", "键值都是文本，与系统属性一起随消息存储，可用于表达式过滤。"),
    "broadcast": (
        "MessageModel.BROADCASTING",
        "Kafka 需要每个消费者各用一个组。RocketMQ 的广播消费组把所有队列给每个客户端，位点保存在客户端本地文件：Broker 不知道它的堆积。",
    ),
    "quota": (
        "没有按客户端的配额",
        "Broker 按负载拒绝：在队列中等待超过 200 毫秒的发送请求会收到 system busy。",
    ),
}

TERMS = tuple(replace(term, rocketmq=_TEXTS[term.name][0], text=_TEXTS[term.name][1]) for term in ENGLISH)
