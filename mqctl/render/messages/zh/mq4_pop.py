"""MQ4, POP: the words of `mqctl.diagnosis.mq4_pop` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ416": Text(
        title="POP 取走的消息没有重新投递",
        what={
            "": "消费组 {group} 取走且未 ack 的 {topic} 的 {due_count} 条消息已到重投时间，最早的已超时 {late_ms}，仍未进入重试主题。"
        },
        effect="broker 完成 revive 之前，这些消息不会再次投递，也没有其他指标能看出来。",
        advice="检查 broker 的时间轮是否运转（timerWheelEnable、磁盘），以及 revive 队列是否前进。",
        explain="5.x 的 broker 在不可见时间结束后 2 到 4 秒把未 ack 的消息写入重试主题。超过 1 分钟说明 revive 服务或时间轮停滞，或有积压。",
    ),
    "MQ417": Text(
        title="重试消息滞留在另一个名字的主题里",
        what={
            "": "消费组 {group} 有 {topic} 的 {stranded_count} 条重试消息留在 V2 名字的重试主题里；enableRetryTopicV2 为 false 时没有 pop 会读它。",
            "first": "消费组 {group} 有 {topic} 的 {stranded_count} 条重试消息留在 V1 名字的重试主题里；retrieveMessageFromPopRetryTopicV1 为 false 时没有 pop 会读它。",
        },
        effect="这些消息永远不会投递，5.x 工具的积压统计也不包含该主题。",
        advice="把 enableRetryTopicV2 和 retrieveMessageFromPopRetryTopicV1 都设为 true，直到该组消费完两个重试主题；此时 pop 会轮流读取。",
        explain="POP 重试主题有两种名字：%RETRY%组_主题 和 %RETRY%组+主题。后者只在 enableRetryTopicV2 打开时写入和读取，关闭时其中的消息就留在那里；关闭 retrieveMessageFromPopRetryTopicV1 时前者也一样。",
    ),
    "MQ421": Text(
        title="消费耗时超过不可见时间",
        what={
            "": "消费组 {group} 的实例处理 {topic} 的消息最长需要 {consume_rt_ms}，而 pop 的不可见时间只有 {invisible_ms}：尚未处理完，broker 就投递给其他实例。",
            "hung": "消费组 {group} 的实例持有 {topic} 的 {held_count} 条消息，一分钟内没有完成任何一条，而仍不可见的只有 {invisible_count} 条：其余消息在持有期间已被重新投递。",
        },
        effect="同一条消息会同时被消费两次，超时完成的消息也无法再 ack。",
        advice="让不可见时间（popInvisibleTime，最大 300 秒）明显大于最慢的消费耗时，处理过程中续期，或优化监听器；若没有任何消息完成，先看线程栈。",
        explain="不可见时间一到，消息就对其他实例可见，不管原实例是否仍在处理；迟到的 ack 会返回成功但不起作用。这里把实例上报的消费耗时或持有数量，与多数 pop 的不可见时间及 broker 上的不可见数量相比较。",
    ),
    "MQ425": Text(
        title="POP 取走的消息一直被持有",
        what={
            "": "消费组 {group} 持有 {topic} 的 {renewed_count} 条消息最长已达 {held_ms}，不可见时间被反复续期，始终没有 ack。"
        },
        effect="其他实例收不到这些消息：只要卡住的消费者还有心跳，Proxy 会为它续期最长三小时。其他工具显示的积压和 Inflight 都是 0。",
        advice="找出卡住的消费者。Python 和 Node.js 的 gRPC 客户端不向 broker 返回线程栈，请在消费者所在主机上查看（`mqctl stacks find`，再用 `mqctl stacks dump --pid PID --explain`）。重启不会丢消息：它持有的消息会重新投递。",
        explain="gRPC 的 PushConsumer 以 auto_renew 方式接收：只要它还有心跳，Proxy 就为处理中的消息续期，而卡住的监听器同样会发心跳。每次续期都会在 broker 的定时主题中留下一条记录。续期两次以上且超过五分钟，就不是正常处理。在线 broker 只读取最新的 20,000 条记录，因此实际时间可能更长。",
    ),
    "MQ422": Text(
        title="POP 模式的消费组中有实例在拉取",
        what={
            "": "消费组 {group} 对 {topic} 设置为 POP 消费，但 {member_count} 个实例中有 {pulling_count} 个在拉取：{clients}。",
            "brokers": "消费组 {group} 在部分 broker 上对 {topic} 设置为 POP，在 {brokers} 上却是 PULL：成员每次询问的 broker 不同，消费方式也随之改变。",
            "undeclared": "消费组 {group} 的 {member_count} 个实例中有 {popping_count} 个以 POP 消费 {topic}（{clients}），另有 {pulling_count} 个在拉取（{others}），而没有 broker 把它设置为 POP 消费。",
        },
        effect="两种方式共用一个消费位点：拉取的实例提交位点会覆盖 pop 的位点，消息被重复消费或跳过。",
        advice="在这些实例上设置 clientRebalance=false（Java 5.x），让 broker 分配队列；旧客户端换成支持 pop 的版本；或把该组改回拉取：mqadmin setConsumeMode -m PULL。请让集群中所有 broker 的模式一致（-c）。没有 broker 设置为 POP 时，以 POP 消费的实例是沿用旧设置，或自行 pop。",
        explain="请求 401 设置消费组对主题的消费模式。只有向 broker 查询分配（请求 400）的客户端会遵从，其他客户端仍拉取自己分配到的队列。切换后 20 秒内实例会跟上。",
    ),
    "MQ420": Text(
        title="顺序队列被阻塞",
        what={
            "": "{topic} 有 {blocked_queue_count} 个队列不再向消费组 {group} 投递：{blocked_ms} 前取走的一批消息未 ack（此前已投递 {delivered_before_count} 次），后面还有 {ready_count} 条消息等待。"
        },
        effect="该批之后的所有消息都要等待，不论分片键，直到该批被 ack 或不可见时间结束。",
        advice="找到持有该批消息的实例，以及第一条消息为什么失败或卡住；ack 该消息后队列即可继续。",
        explain="顺序 pop 每个队列同一时间只投递一批，只要其中有消息未 ack 且仍不可见，后面的都不投递。超过一分钟，或同一消息第四次投递，就不是正常处理中的批次。broker 只把它记在 consumerOrderInfo.json，不对外提供，因此只有从存储目录才能看到。",
    ),
}
