"""MQ3, threads: the words of `mqctl.diagnosis.mq3_threads` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHARE = "{client} 中 {group} 的 {pool_count} 个消费线程有 {thread_count} 个"
_REST = "其余：{rest}。"

RULES: dict[str, Text] = {
    "MQ320": Text(
        title="消费者的线程互相等待",
        what={
            "proven": "{client} 发生死锁（由其 JVM 确认）：{threads} 互相等待，位于 {line}。",
            "suspected": "{client} 很可能发生死锁：{threads} 都在等锁且始终不动，位于 {line}。",
        },
        effect="这些线程不会再返回：其消息一直未完成，所在队列的位点停止不前。",
        advice="先重启该实例恢复消费，再让各处按同一顺序加锁，或加锁时设超时。只有 jstack -l 能证明死锁；py-spy 和经 broker 取得的线程栈不含锁的持有者。",
        explain="若干线程构成一个环，每个都等待下一个持有的锁。JVM 能自行发现。看不到持有者时，若多个线程等锁、始终不动，且没有其他线程处于加锁的代码中，则判为疑似。",
    ),
    "MQ321": Text(
        title="消费线程在等锁",
        what={
            "owner": f"{_SHARE}在等同一把锁，位于 {{line}}。持有者是 {{owner}}，正处于 {{owner_line}}。{_REST}",
            "": f"{_SHARE}在等锁，位于 {{line}}；线程栈中看不出谁持有它。{_REST}",
        },
        effect="无论有多少线程，同一时刻只有一个在前进：加线程、加队列都没有用。",
        advice="看持有者在做什么：其他线程等的就是锁内的慢调用。把调用移到锁外，或按 key 分锁而不是共用一把。",
        explain="线程池中多数线程在等监视器或锁，且消费落后。Java 线程栈能看出监视器的持有者，加 -l 还能看出锁的持有者；持有链的最后一个是真正的阻塞者。",
    ),
    "MQ322": Text(
        title="消费线程在等进程之外的东西",
        what={
            "http": f"{_SHARE}在等 HTTP 应答，调用自 {{line}}。{_REST}",
            "database": f"{_SHARE}在等数据库，调用自 {{line}}。{_REST}",
            "redis": f"{_SHARE}在等 Redis，调用自 {{line}}。{_REST}",
            "rpc": f"{_SHARE}在等远程调用的应答，调用自 {{line}}。{_REST}",
            "send": f"{_SHARE}在发送消息并等待 broker，调用自 {{line}}。{_REST}",
            "socket": f"{_SHARE}在等套接字，调用自 {{line}}。{_REST}",
            "dns": f"{_SHARE}在解析主机名，调用自 {{line}}。{_REST}",
            "connection-pool": f"{_SHARE}在等连接池的空闲连接，调用自 {{line}}。{_REST}",
        },
        effect="消费速度取决于它所等待的对象。增加实例只会给本已跟不上的下游增加压力。",
        advice="测量被调用方；给调用设置远小于 consumeTimeout（15 分钟）的超时。只有对方承受得住时，增加线程或批量才有用。连接池应为每个消费线程备一个连接。",
        explain="线程池中多数线程处于客户端库或驱动之内，且消费落后。分类规则见 docs/stack-classes.md；每次都在同一位置的线程是卡住，会移动的是慢。",
    ),
    "MQ323": Text(
        title="消费线程在休眠或等待其他线程",
        what={
            "sleep": f"{_SHARE}在休眠，位于 {{line}}。{_REST}",
            "retry": f"{_SHARE}在自行重试的间隔中休眠，位于 {{line}}。{_REST}",
            "wait": f"{_SHARE}在等待，位于 {{line}}；线程栈看不出在等什么（其他线程，或原生代码）。{_REST}",
        },
        effect="线程休眠或等待期间什么也不消费：后面的消息一起等待。",
        advice="查看调用栈（`mqctl stacks dump --calls`）。监听器在休眠时，改为返回 RECONSUME_LATER：消息会以越来越长的间隔再次投递，线程也得以释放。"
        "监听器在等其他线程时，查清那个线程被什么拖住。Python 线程在 C 代码里等什么，可在其主机上用 --pid PID --native 查看。",
        explain="线程池中多数线程在休眠，或等待 future、latch、队列，或处于工具看不到的 C 函数中，且消费落后。",
    ),
    "MQ324": Text(
        title="消费线程都在进程内忙碌",
        what={
            "cpu": f"{_SHARE}在计算，位于 {{line}}。{_REST}",
            "gc": f"{_SHARE}在运行，而垃圾回收占用了相当一部分处理器，位于 {{line}}。{_REST}",
            "serialisation": f"{_SHARE}在做序列化或反序列化，调用自 {{line}}。{_REST}",
            "logging": f"{_SHARE}在写日志或等待写日志，调用自 {{line}}。{_REST}",
            "file": f"{_SHARE}在读写文件，调用自 {{line}}。{_REST}",
            "class-loading": f"{_SHARE}在加载类或导入模块，调用自 {{line}}。{_REST}",
        },
        effect="线程池没有空闲线程；在同一台机器上加线程只会轮流占用同样的处理器和磁盘。",
        advice="计算型的工作，线程数大致等于处理器数，并在其他机器上增加实例；日志改为异步；给堆留出余量；在消费者启动前加载好所需的东西。",
        explain="线程池中多数线程在运行，或在使用进程自身的资源（文件、日志、类、内存），且消费落后。系统能提供时，证据中有每个线程在两次之间的处理器时间。",
    ),
    "MQ325": Text(
        title="顺序消费线程在等自己的队列",
        what={
            "owner": f"{_SHARE}在等一个顺序队列。持有者是 {{owner}}，正处于 {{owner_line}}。{_REST}",
            "": f"{_SHARE}在等一个被其他线程持有的顺序队列。{_REST}",
        },
        effect="顺序消费时一个队列同一时刻只属于一个线程：多于队列数的线程只能等待，一条慢消息会拖住整个队列。",
        advice="看持有队列的线程在做什么。加线程没有用；加队列对新的 key 有用。按 key 有序消费既保持每个 key 的顺序，又能用上所有线程。",
        explain="ConsumeMessageOrderlyService 在调用监听器之前为每个队列加锁。等在那里的线程本身不是故障，只说明一个队列的工作被许多线程等着。",
    ),
    "MQ326": Text(
        title="消费线程处于没有规则认识的位置",
        what={"": f"{_SHARE}处于 {{line}}（{{cls}}）。{_REST}"},
        effect="线程池没有空闲线程，原因还没有名字。",
        advice="查看列出的调用。如果是自己的库，用 --rules-file 的文件为它命名，见 docs/stack-classes.md。",
        explain="线程池中多数线程属于 unknown 类，或属于用户规则命名的类，且消费落后。",
    ),
    "MQ327": Text(
        title="消费落后而消费线程空闲",
        what={
            "held": "{client} 中 {group} 的 {pool_count} 个消费线程有 {idle_count} 个空闲，但 {queue} 的位点被一条消息卡在 {queue_offset}：它的线程位于 {line}，该队列已有 {idle_ms} 没有完成任何消息。",
            "lost": "{client} 中 {group} 的 {pool_count} 个消费线程全部空闲，但 {queue} 的位点停在 {queue_offset}：消息在缓存中而没有线程处理，该队列已有 {idle_ms} 没有完成任何消息。",
            "commit": "{client} 在 {idle_ms} 前已把 {queue} 消费到 {queue_offset}，但 broker 上 {group} 的位点仍是 {consumer_offset}：位点提交没有到达。{pool_count} 个消费线程有 {idle_count} 个空闲。",
            "unlocked": "{client} 中 {group} 的 {pool_count} 个消费线程有 {idle_count} 个空闲：{queue_count} 个队列没有在 broker 上锁定（{queue}）。",
            "stopped": "{client} 中 {group} 的 {pool_count} 个消费线程有 {idle_count} 个空闲：{queue_count} 个队列不再被拉取（{queue}）。",
            "starved": "{client} 中 {group} 的 {pool_count} 个消费线程全部空闲，而其队列中有 {lag_count} 条消息在等待：什么都没有到达。",
        },
        effect="线程有余而积压仍在增长：加线程或加实例都没有用。",
        advice="位点被一条消息卡住时，查明它在等什么；超过 consumeTimeout（15 分钟）后它会被退回，重启则会重复消费位点之后的全部消息。提交不到达、不拉取或未锁定时，检查到该 broker 主节点的连接。什么都拉不到时，检查过滤条件以及 broker 是否在读磁盘。",
        explain="并发消费提交的是最小的未完成位点，因此一条卡住的消息会冻结整个队列，而其他线程都空闲；跨度达到 2,000 时拉取也会停止。仅线程空闲是消费快的正常表现：只有在每次采样中都在等待、至少等了 10 秒、且消费者没有任何推进的消息才算。启动不到一分钟的消费者仍在寻找 broker，不作判断。",
    ),
    "MQ328": Text(
        title="消费线程少于配置",
        what={
            "": "{client} 有 {pool_count} 个 {group} 的消费线程，配置为 {configured_count} 个，缓存中有 {cached_count} 条消息在等待。"
        },
        effect="消息在等并不存在的线程。",
        advice="在消费者日志中查找使线程退出的错误，并重启。Java 线程池随任务逐个启动线程，因此刚启动时偏少不是故障。",
        explain="统计名为 ConsumeMessageThread_ 的线程，与实例上报的核心线程数比较。",
    ),
}
