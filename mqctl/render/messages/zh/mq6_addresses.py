"""MQ62x, addresses: the words of `mqctl.diagnosis.mq6_addresses` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ620": Text(
        title="已注册的 broker 无法访问",
        what={
            "": "{broker}（id {broker_id}）注册的地址是 {address}，但无法访问：{reason}。",
            "silent": "{broker}（id {broker_id}）注册的地址是 {address}，但没有在规定时间内应答：{reason}。",
        },
        effect="与本机处于同一网络的客户端访问它会超时；它的一切都无法判断。",
        advice="用 mqctl broker reach 查看哪些端口有应答。端口能连上却不应答，说明 broker 挂起或过载：查看它的进程、日志和磁盘；端口连不上，说明网络被阻断或没有进程监听；加大 --timeout 后能应答，说明只是慢。容器内或 NAT 之后的 broker 必须注册客户端能访问的地址：设置 brokerIP1（和 listenPort）。如果只是本机访问不到，请换一台机器再看。",
        explain="NameServer 只转发 broker 注册的地址，不检查能否访问。该地址上应答的也可能不是 broker：HTTP 端口、代理，或要求 TLS 的端口。",
    ),
    "MQ621": Text(
        title="客户端无法使用的地址",
        what={
            "malformed": "{broker}（id {broker_id}）注册的地址是“{address}”，不是合法地址。",
            "wildcard": "{broker}（id {broker_id}）注册的地址是 {address}，表示任意地址，无法访问。",
            "loopback": "{broker}（id {broker_id}）注册的地址是 {address}：每个客户端都会到自己的机器上找它。",
        },
        effect="客户端能查到路由，却连不上 broker。",
        advice="把 brokerIP1 设置为客户端能访问的地址（后面不要有空格或注释），并重启 broker。",
        explain="没有设置 brokerIP1 时，broker 使用某个网卡的地址，在容器中可能是回环地址。只有通过其他地址访问 NameServer 时才判断回环地址。",
    ),
    "MQ622": Text(
        title="两个 broker 使用同一名称",
        what={
            "": "在这些 NameServer 上，{broker} 属于 {cluster_count} 个集群：{clusters}。",
            "other": "{address} 注册为 {cluster} 的 {broker}，而应答者自称 {own_cluster} 的 {own_name}。",
        },
        effect="两个 broker 相互覆盖注册信息：客户端时而访问这个，时而访问那个，消息看起来像丢失了。",
        advice="让每个 broker 名称只属于一个 broker，或让每个集群使用自己的 NameServer；修改后重启。",
        explain="NameServer 对一个 broker 名称只保存一条记录，不论它属于哪个集群：每 30 秒由最后注册者覆盖。被分配给另一台机器的地址也会这样显示：应答者报出自己的名称。",
    ),
    "MQ623": Text(
        title="broker 注册的不是自己的地址",
        what={"": "{broker} 注册的地址是 {address}，而它自己的配置是 {own_address}。"},
        effect="客户端访问注册的地址；哪一个正确，只有网络知道。",
        advice="如果修改过 brokerIP1 或 listenPort，请重启 broker；如果该地址上是另一个进程，请停掉它。",
        explain="broker 以启动时的 brokerIP1:listenPort 注册。",
    ),
    "MQ624": Text(
        title="成员使用的 NameServer 与 broker 不同",
        what={
            "": "消费组 {group} 有 {lost_count} 个成员向 {asked} 查询路由（{clients}），而 broker 注册在 {registered}。"
        },
        effect="它们得不到任何变化：新的 topic、队列、broker；重启后可能什么都找不到。",
        advice="改正这些客户端的 NameServer 地址并重启。使用域名的客户端每两分钟重新查询一次，使用固定地址的则一直不变。",
        explain="比较成员上报的列表与 broker 的 namesrvAddr。含有域名的列表不判断：它们可能指向同样的服务器。",
    ),
    "MQ625": Text(
        title="订阅了本集群没有的 topic",
        what={"": "消费组 {group} 的 {member_count} 个成员订阅了 {topic}，而本集群没有任何 broker 有它。"},
        effect="它的消息一条也消费不到，成员除了日志中的警告什么也不说。",
        advice="检查 topic 名称、命名空间和集群：同一进程中两个集群的消费者如果没有各自的 instanceName，会全部连到其中一个。由首条消息创建的 topic 会随之出现。",
        explain="比较成员的订阅与所有主节点的 topic 表。topic 没有路由时消费者也能启动，并每 30 秒重新查询。",
    ),
    "MQ626": Text(
        title="NameServer 没有应答",
        what={"": "NameServer {address} 没有应答：{reason}。另有 {answering_count} 个正常应答。"},
        effect="列有它的客户端每次超时后改用其他 NameServer。只有它才知道的内容未作判断；再有一个失效就可能一个不剩。",
        advice="重启它；如果已永久下线，把它从 broker 和客户端的地址列表中去掉。如果只是本机连不上，请换一台机器再看。",
        explain="NameServer 之间互不通信，只有客户端和 broker 会察觉。挂起与被防火墙隔开，从这里看是一样的：broker 的日志可以区分。",
    ),
    "MQ627": Text(
        title="路由指向没有该 topic 的 broker",
        what={"": "NameServer 上 {topic} 的路由包含 {brokers}，但那里并没有这个 topic。"},
        effect="发往那里的消息被拒绝，或者以默认配置重新创建 topic；拉取被拒绝（代码 17）。消费者照样分配到它的队列。",
        advice="如果确实要删除，请同时从 NameServer 删除：mqctl topic delete 两处都删。否则在该 broker 上重新创建。",
        explain="broker 丢失 topic 后只注册其余的 topic，NameServer 保留原有路由（4.9.x）。只在 broker 上删除，与 broker 丢了 topics.json，看起来一样：后者会缺少全部 topic。",
    ),
}
