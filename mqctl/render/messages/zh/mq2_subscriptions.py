"""MQ2, subscriptions: the words of `mqctl.diagnosis.mq2_subscriptions` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ201": Text(
        title="有位点但没有配置的消费组",
        what={"": "消费组 {group} 在 {topic_count} 个 topic（{topics}）上有位点，但没有订阅组配置。"},
        effect="该组可能是删除时保留了位点、被克隆，或配置已丢失；如果 broker 允许自动创建订阅组，它再次上线时会得到默认配置。",
        advice="确认该组已废弃就删除位点；仍在使用则补建订阅组配置。",
        explain="位点在 consumerOffset.json 中，配置在 subscriptionGroup.json 中；删除消费组时默认保留位点。",
    ),
    "MQ202": Text(
        title="同一消费组的成员订阅了不同的 topic",
        what={"": "消费组 {group} 的 {member_count} 个成员中有 {differing_count} 个订阅的 topic 不同。{sides}。"},
        effect="队列按整个消费组分配；分给未订阅该 topic 的成员的那部分队列无人消费，而且每次心跳都会让 broker 忘掉其他成员的 topic。",
        advice="让所有成员使用相同的订阅，或者拆成各自的消费组。",
        explain="RocketMQ 按消费组而不是按 topic 分配：每个成员对任何一个 topic 都占一个名额。没有订阅该 topic 的成员会让自己那份队列无人消费。",
    ),
    "MQ203": Text(
        title="同一消费组的成员订阅了不同的 tag",
        what={
            "": "消费组 {group} 的成员对 {topic} 订阅的 tag 不同。{sides}。broker 目前按 {effective} 过滤。没有抽样消息，影响多少消息未知。",
            "filtered": "消费组 {group} 的成员对 {topic} 订阅的 tag 不同。{sides}。broker 目前按 {effective} 过滤。按目前的过滤条件，最新的 {sampled_count} 条消息中"
            "会有 {lost_count} 条（{filtered}）有成员想要却被跳过，位于 {queues}；此前实际跳过了哪些，取决于当时的过滤条件。",
            "dropped": "消费组 {group} 的成员对 {topic} 订阅的 tag 不同。{sides}。broker 目前按 {effective} 过滤。最新的 "
            "{sampled_count} 条消息中会有 {lost_count} 条能通过过滤，却被所在队列的归属成员丢弃，因为它没有订阅这些 tag（{dropped}），位于 {queues}；"
            "此前实际跳过了哪些，取决于当时的过滤条件和队列归属。",
            "both": "消费组 {group} 的成员对 {topic} 订阅的 tag 不同。{sides}。broker 目前按 {effective} 过滤。按目前的过滤条件，最新的 {sampled_count} 条消息中"
            "会有 {filtered_count} 条（{filtered}）有成员想要却被 broker 跳过；另有 {dropped_count} 条能通过过滤，却会被所在队列的归属成员丢弃，"
            "因为它没有订阅这些 tag（{dropped}），位于 {queues}；此前实际跳过了哪些，取决于当时的过滤条件和队列归属。",
            "spared": "消费组 {group} 的成员对 {topic} 订阅的 tag 不同。{sides}。broker 目前按 {effective} 过滤。已查看最新的 {sampled_count} 条消息："
            "其中没有成员想要却被目前的过滤条件或队列归属成员跳过的消息；更早的消息，以及此前按其他过滤条件跳过的消息，没有查看。",
        },
        effect="如果队列的归属实例不要某个 tag，这条消息会被静默跳过，位点照常前进：整个消费组都丢失它。",
        advice="让所有成员使用同一份订阅；灰度发布请改用新的消费组。然后把被跳过的消息重放给一个新的消费组（`mqctl replay group -g NEW -t {topic} --since TIME`）。"
        "目前在线的成员自 {differing_since_time_ms} 起不一致；如果重启之前的成员已经不一致，请从引入差异的那次发布开始。",
        explain="每个队列只有一个归属实例，由它的 tag 决定取舍。broker 只保留消费组最新的订阅，并用它为所有成员过滤；通过的消息再由归属实例过滤一次。",
    ),
    "MQ204": Text(
        title="同一消费组混用 tag 与 SQL92 订阅",
        what={"": "消费组 {group} 的成员用不同类型的表达式订阅 {topic}。{sides}。"},
        effect="broker 对所有成员都按最新的表达式过滤；其他成员的拉取会失败，或者取到错误的消息。",
        advice="整个消费组只使用一种表达式。",
        explain="broker 对每个消费组和 topic 只保留一份订阅。类型不一致的成员会收到 27 或 28，或者取到别人要的消息。",
    ),
    "MQ205": Text(
        title="两个连接使用同一个 client id",
        what={"": "消费组 {group} 中有 {connection_count} 个连接都自称 {client}，来自 {addresses}。"},
        effect="它们算出相同的队列并重复消费；排在其后的名额则无人归属。",
        advice="如果是两个进程：让每个进程使用各自的 instanceName，或者升级到 4.9.0 及以上的客户端；容器中请设置 clientIP。如果是同一进程重连：旧连接会在 120 s 内消失，两分钟后再看（mqctl group members）。",
        explain="client id 由地址和实例名组成，旧版本的实例名是进程号：网桥地址相同且 pid 都为 1 的容器会冲突。id 列表保留两份，但双方都排在第一个位置。",
    ),
    "MQ206": Text(
        title="各 broker 看到的消费组成员不一致",
        what={"": "并非每个 broker 都知道消费组 {group} 的全部 {member_count} 个成员。缺失情况：{missing}。"},
        effect="成员按各自询问到的列表计算队列：有的队列有两个归属，有的没有归属。",
        advice="要么这些成员连不上这些 broker（在其机器上执行 mqctl broker reach），要么它们不知道这些 broker：所订阅 topic 的路由或其 NameServer 中没有（mqctl topic route、mqctl group member）。",
        explain="每个客户端都向每个 broker 发送心跳。连不上某个 broker 的客户端不在其列表中；一分钟后再看一次，可以区分持续故障与重启。",
    ),
    "MQ207": Text(
        title="广播消费的成员每次启动都更换名字",
        what={"": "广播消费组 {group} 中有 {changing_count} 个成员的名字会变化：{clients}。"},
        effect="广播消费的位点保存在以 client id 命名的本地文件中；换了名字就从头开始，会跳过或重复消息。",
        advice="设置固定的 instanceName，并在重启之间保留主目录。",
        explain="在广播消费组成员的 id 中寻找进程号和 pod 随机后缀。",
    ),
    "MQ208": Text(
        title="同一消费组混用广播与集群消费",
        what={"": "消费组 {group} 的消费模式不一致。{sides}。"},
        effect="一部分成员收到全部消息，另一部分只收到一份；broker 显示的是最后一次心跳的模式。",
        advice="广播与集群消费请使用不同的消费组。",
        explain="比较 broker 保存的消费模式与每个成员自己报告的模式。",
    ),
    "MQ209": Text(
        title="同一消费组中有多种语言的客户端",
        what={"": "消费组 {group} 中有 {language_count} 种语言的客户端。{sides}。"},
        effect="它们的分配、重试和位点规则可能不同，而且并非都能报告运行状态。",
        advice="比较它们的设置，首先是分配策略。",
        explain="仅供参考：混合的消费组会怎样，取决于各客户端有多相似。",
    ),
    "MQ210": Text(
        title="同一消费组的成员使用不同的名称服务器",
        what={"": "消费组 {group} 的成员没有共同的名称服务器。{sides}。"},
        effect="它们可能面对不同的集群：各自看到不同的队列和不同的成员。",
        advice="比较名称服务器设置；同一进程访问两个集群时，客户端需要各自的 instanceName 或 unitName。",
        explain="同一进程中 id 相同的两个客户端共用一组连接，以先启动者的名称服务器为准。",
    ),
    "MQ211": Text(
        title="消费组在无人订阅的 topic 上有积压",
        what={"": "消费组 {group} 在 {topic} 上积压 {lag_count} 条消息，而它的 {member_count} 个成员都没有订阅。"},
        effect="积压会一直增长到过期；只看消费组的监控发现不了。",
        advice="重新订阅该 topic，或者删除该组在其上的位点。",
        explain="保存的位点比订阅活得更久。有在线成员的消费组，其消费统计会略去这样的 topic，因此这里比较的是 broker 的位点表。",
    ),
    "MQ212": Text(
        title="同一消费组的成员使用不同的分配策略",
        what={"": "消费组 {group} 的成员用 {strategy_count} 种策略分配队列。{sides}。"},
        effect="各自按自己的规则都没错，结果有的队列有两个所有者而被重复消费，有的没有所有者。",
        advice="统一策略并重启全部成员。",
        explain="策略不会发给 broker，Java 客户端和 mqctl 的客户端会在自己的设置里写出策略。不作答的成员由 mqctl allocation show 按其持有的队列推断。",
    ),
}
