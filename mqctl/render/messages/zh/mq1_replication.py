"""MQ116, MQ130 to MQ138, replication: the words of `mqctl.diagnosis.mq1_replication` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ116": Text(
        title="从节点严重落后",
        what={"": "{broker} 的从节点 {broker_id} 落后主节点 {behind_bytes}。"},
        effect="4.9 的同步双写主节点会对发送返回 11；主节点宕机时，从节点缺少的部分会丢失。",
        advice="检查两者之间的网络以及从节点的磁盘。",
        explain="比较两份提交日志的末尾；超过 256 MiB 时同步主节点会放弃该从节点。",
    ),
    "MQ130": Text(
        title="从节点没有主节点的完整日志",
        what={
            "": "{broker} 的从节点 {broker_id} 是空的；主节点有 {missing_bytes}。",
            "partial": "{broker} 的从节点 {broker_id} 的日志起点比主节点晚 {missing_bytes}。",
        },
        effect="缺少的部分无法在从节点读取，主节点宕机时会丢失；在 broker 列表中它看起来与正常从节点一样。",
        advice="为空时：检查从节点能否访问主节点的 haServerAddr（brokerIP2:haListenPort）。起点较晚时：新从节点只会得到主节点的最后一个文件，"
        "或者它的保留时间更短；需要完整数据时请拷贝主节点的存储目录。",
        explain="topic 和位点通过另一个端口同步，所以空的从节点看起来可能是完整的。启动不足 60 秒的从节点不作判断。",
    ),
    "MQ131": Text(
        title="从节点超前于主节点",
        what={"": "{broker} 的从节点 {broker_id} 的日志末尾比主节点多 {ahead_bytes}。"},
        effect="主节点丢失了这些消息（断电、换回旧磁盘），而消费者可能已经读过。主节点写到同样位置后，复制会从一条记录的中间继续，两份日志从此不同。",
        advice="在主节点追上之前停止从节点。比较两份存储，保存只有从节点才有的消息，然后重建从节点。",
        explain="普通模式下两个版本都不会截断从节点。4.9 每 10 秒断开一次连接；5.x 保持连接并显示同步正常。",
    ),
    "MQ132": Text(
        title="从节点的日志与主节点不同",
        what={
            "": "{broker} 的从节点 {broker_id} 无法解析自己日志末尾的 {undispatched_bytes}，且没有减少。",
            "once": "{broker} 的从节点 {broker_id} 的日志与主节点一样长，但末尾 {undispatched_bytes} 尚未分发到队列。",
        },
        effect="新消息不会出现在从节点的队列中。虽然两份日志末尾相同，主节点宕机时这些消息会丢失。",
        advice="只看到一次时，用 --window 10s 再看一次：繁忙的从节点会追上。否则请比较两份存储并重建从节点。",
        explain="曾经超前、后来被主节点追上的从节点保留着自己的尾部，下一个数据块会追加在一条记录的中间。两份日志末尾相同，haStatus 显示同步正常，"
        "只有从节点的 dispatchBehindBytes 在增长。",
    ),
    "MQ133": Text(
        title="主从复制停滞",
        what={
            "": "{broker} 的从节点 {broker_id} 在 {window_ms} 内没有收到数据，落后 {behind_bytes}。",
            "silent": "{broker} 的从节点 {broker_id} 已有 {silent_ms} 没有向主节点上报。",
        },
        effect="主节点从现在起收到的消息只有一份。",
        advice="检查到主节点 haServerAddr 的连接、从节点的磁盘，以及日志中是否有 `master pushed offset` 或 `appendToPhyQueue`。",
        explain="从节点至少每 5 秒上报一次。从节点上显示的主节点地址不说明问题：主节点消失后它仍然保留。",
    ),
    "MQ134": Text(
        title="复制端口上的连接不是从节点",
        what={
            "": "{broker} 的复制端口上有 {mute_count} 个连接从未上报位点（{addresses}）；已注册 {slave_count} 个从节点。",
            "impossible": "{address} 向 {broker} 的复制端口上报了位点 {reported_offset}，超出其日志末尾。",
        },
        effect="每个连接都被当作从节点：同步发送会等待它，或者在没有从节点持有消息时也返回成功。不关闭的健康检查连接会越积越多，耗尽堆内存。",
        advice="查明它是谁（端口扫描、负载均衡或 Kubernetes 的健康检查），并禁止其访问 haListenPort。刚连接的从节点会在 5 秒内上报。4.9 的主节点收到过探测数据后需要重启。",
        explain="复制协议没有握手：谁连接谁就是从节点，收到的最后八个字节就是位点。一个 HTTP 请求会被读成 6075407785597603082。",
    ),
    "MQ135": Text(
        title="不等待从节点的 SYNC_MASTER",
        what={"": "{broker} 是 SYNC_MASTER，inSyncReplicas={in_sync_replicas}：发送不会等待任何从节点。"},
        effect="发送成功的消息可能随主节点一起丢失。",
        advice="需要第二份副本后才返回成功时设置 inSyncReplicas=2；否则使用 ASYNC_MASTER 更名副其实。",
        explain="4.9 等待一个从节点；5.x 把主节点自己也计算在内，默认值 1 表示不等待。",
    ),
    "MQ136": Text(
        title="broker 的角色与 id 矛盾",
        what={
            "": "{address} 的角色是 {role}，却以从节点的 id {broker_id} 注册为 {broker}。",
            "slave": "{address} 的角色是 SLAVE，却以主节点的 id 0 注册为 {broker}。",
        },
        effect="id 为 0 的从节点会收到所有发送请求并拒绝。id 不为 0 的主节点没有路由指向它。",
        advice="主节点设置 brokerId=0，从节点设置大于 0 的 id，并与 brokerRole 一致，然后重启 broker。",
        explain="broker 和 NameServer 都不检查 brokerRole 与 brokerId 是否一致。",
    ),
    "MQ137": Text(
        title="主从的日志文件大小不同",
        what={
            "": "{broker} 的从节点 {broker_id} 的 mappedFileSizeCommitLog 是 {slave_file_bytes}，主节点是 {master_file_bytes}。",
        },
        effect="从节点会停在第一个放不进自己文件的数据块上，重新连接后再次停止。",
        advice="让从节点使用与主节点相同的 mappedFileSizeCommitLog，并清空其存储。",
        explain="数据块在主节点的文件末尾结束，必须落在从节点的同一个文件内。",
    ),
    "MQ138": Text(
        title="同一 broker 名称有两个主节点",
        what={"": "{broker} 有 {master_count} 个主节点：{addresses}。"},
        effect="客户端时而访问这个、时而访问那个：消息好像消失了，位点会倒退。",
        advice="如果两个都在运行，停止其中一个，或给它单独的名称。如果是有意迁移主节点，仍返回旧地址的 NameServer 会在 120 秒内忘记它。",
        explain="NameServer 对每个 id 只保留最后注册的地址；broker 每 30 秒注册一次，所以两个主节点会轮流出现。查询多个 NameServer 或使用 --window 才能看到两者。",
    ),
}
