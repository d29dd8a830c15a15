"""MQ6, cluster: the words of `mqctl.diagnosis.mq6_cluster` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ618": Text(
        title="没有任何 broker 注册",
        what={"": "NameServer（{name_servers}）有应答，但没有任何 broker 在其上注册。"},
        effect="客户端查不到路由，既不能发送也不能消费；所有 Topic 和消费组都无法判断。",
        advice="检查 broker 进程是否在运行，namesrvAddr 是否指向这些 NameServer。刚启动的 NameServer 会在 30 秒内重新收到注册。如果连错了集群，请改用正确的地址。",
        explain="NameServer 只在内存中保存 broker 的注册信息，连接断开或 120 秒没有上报即摘除；broker 每 30 秒注册一次。",
    ),
    "MQ619": Text(
        title="同一个 broker 注册了多个名称",
        what={"": "{address} 以 {names} 多个名称注册：是同一个进程，或配置中复制了同一地址。"},
        effect="客户端把它当作多个 broker：队列被重复计算，按一个名称到另一个的存储中找消息。",
        advice="让每个 broker 使用自己的地址（brokerIP1、listenPort），或重启改名的 broker；旧名称在停止上报 120 秒后消失。",
        explain="比较所有 broker 名称的地址。改名的 broker 在 NameServer 摘除之前仍以旧名称存在。",
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
    "MQ635": Text(
        title="NameServer 缺少 broker",
        what={
            "": "NameServer {name_server} 没有列出其他 NameServer 所知的 {broker_count} 个 broker 中的 {missing_count} 个：{brokers}。"
        },
        effect="向它查询的客户端找不到到这些 broker 的路由，只能沿用之前的路由，或者什么也得不到。",
        advice="一分钟后再看一次：broker 每 30 秒向每个 NameServer 注册，刚启动的 NameServer 不知道任何 broker。如果仍然如此，则是这些 broker 连不上它，或者其 namesrvAddr 没有列出它（mqctl broker config）。",
        explain="NameServer 之间互不通信，各自只列出向自己注册的 broker。再看一次可以区分故障与正在进行的注册。",
    ),
    "MQ629": Text(
        title="topic 没有写队列",
        what={
            "": "{topic} 在 {broker_count} 个 broker 上有 {read_queue_count} 个读队列，没有写队列。",
            "none": "{topic} 在 {broker_count} 个 broker 上既没有读队列也没有写队列。",
        },
        effect="生产者每次发送都会失败，报 topic 没有路由。",
        advice="除非是在删除之前排空它，请恢复写队列。",
        explain="生产者的队列来自路由中各 broker 的 writeQueueNums。把它设为 0 是排空 topic 的做法，看起来与 topic 不存在一样。",
    ),
    "MQ608": Text(
        title="名称服务器不一致",
        what={"": "{name_server_count} 个名称服务器中，{name_servers} 给出的 {topic} 路由不同。"},
        effect="客户端看到的队列取决于它询问的是哪一个。",
        advice="一分钟后再看：broker 每 30 s 向每个名称服务器注册一次。如果仍不一致，则有 broker 连不上该名称服务器，或其 namesrvAddr 没有配置它（mqctl broker config）。",
        explain="名称服务器之间互不通信，每个 broker 分别注册。再看一次可以区分故障与正在进行的注册。",
    ),
    "MQ609": Text(
        title="主节点缺失",
        what={"": "{broker} 有 {slave_count} 个从节点而没有主节点。"},
        effect="消息可以读取；无法发送和加锁，期间提交的位点会在主节点恢复后被覆盖。",
        advice="启动主节点。如果从来没有这个名称的主节点，说明从节点的 brokerName 写错了：必须与主节点相同。",
        explain="查找有地址但没有 id 0 的 broker 名。主节点停止或被杀后注册立即移除，主机卡死时保留 120 秒；普通模式下没有节点会接替。",
    ),
    "MQ610": Text(
        title="broker 被关闭",
        what={"": "{broker} 的权限是 {perm}。"},
        effect="缺少的权限以返回码 16 拒绝，无论 topic 如何设置。",
        advice="维护结束后把 brokerPermission 设为 6。",
        explain="brokerPermission 优先于所有 topic：4 可读，2 可写，6 可读写。",
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
}
