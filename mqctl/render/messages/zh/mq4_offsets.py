"""MQ4, offsets: the words of `mqctl.diagnosis.mq4_offsets` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ401": Text(
        title="消费组积压",
        what={
            "": "消费组 {group} 在 {topic} 上落后 {lag_ms}，积压 {lag_count} 条消息。",
            "filtered": "消费组 {group} 在 {topic} 上的位点停在 {lag_ms} 之前：队列中有 {lag_count} 条消息，其中约 {wanted_count} 条的 tag 是它订阅的"
            "（抽样 {sampled_count} 条），其余会被过滤，不算积压。",
        },
        effect="消息处理延后相应的时间；消费速度超过生产速度之前，积压会继续增长。",
        advice="先弄清消费者是下线、变慢还是卡住，再考虑增加实例。",
        explain="时间积压是下一条待消费消息的年龄，也就是用户感受到的延迟；只看条数容易误判。5 min 起为警告，1 h 起为错误。",
    ),
    "MQ402": Text(
        title="消息未消费就已过期",
        what={"": "消费组 {group} 在 {topic} 的队列 {queues} 上低于最小位点：{lost_count} 条消息未消费就已被删除。"},
        effect="对该消费组来说这些消息已经丢失；下次拉取会直接跳到最小位点。",
        advice="如果确实没有消费过，从消息来源或备份补回，并延长保留时间、提高消费能力。如果是有人把位点重置到最小位点之前（mqctl offset history），则没有新的丢失。",
        explain="过期清理删除提交日志文件时不看消费进度。位点低于队列最小位点的差值，就是未读而被删的条数。",
    ),
    "MQ403": Text(
        title="消息即将在消费之前过期",
        what={"": "消费组 {group} 在 {topic} 上的下一条消息已存储 {lag_ms}，而文件只保留 {retention_ms}。"},
        effect="在该组消费到之前，过期清理最多会删除 {lag_count} 条消息。",
        advice="立即调大 fileReservedTime，然后消化积压。",
        explain="比较下一条待消费消息的年龄与保留时间（未知 broker 配置时按 72 h）减去 2 h 余量。",
    ),
    "MQ404": Text(
        title="消费位点超出队列末尾",
        what={
            "": "消费组 {group} 在 {topic} 的队列 {queues} 上超出队列末尾 {beyond_count} 条（位点 {consumer_offset}，队列末尾 "
            "{max_offset}）。"
        },
        effect="队列丢失了尾部、被清空或被重建。下次拉取时位点会退回到队列末尾；其间写在旧位点以下的消息可能被跳过。",
        advice="先查清队列为何比消费组记录的短：崩溃丢失了尾部（MQ108、broker 日志）、topic 被删除后重建、存储来自旧副本，或位点是手工设置的。然后按时间重置该消费组的位点。",
        explain="恢复过程截断队列时不会调整消费位点。超出末尾的拉取会得到队列末尾作为新位点。",
    ),
    "MQ405": Text(
        title="重试消息积压",
        what={"": "消费组 {group} 有 {lag_count} 条重试消息在等待，最久的已等待 {lag_ms}。"},
        effect="该组消费失败的速度快于重试的速度，或者已经下线。",
        advice="查看监听器因为什么失败。",
        explain="消费失败的消息按逐级增大的延迟经 %RETRY%GROUP 回来；等待中的重试按普通积压计算。",
    ),
    "MQ406": Text(
        title="存在死信",
        what={"": "消费组 {group} 已放弃 {dead_letter_count} 条消息，最近一条在 {newest_time_ms}。"},
        effect="这些消息不会再被处理，并随存储一起过期。",
        advice="读取死信，排除原因，并在过期之前重新投递。",
        explain="失败次数达到 retryMaxTimes 的消息进入 %DLQ%GROUP，并停留在那里。",
    ),
    "MQ407": Text(
        title="死信队列不可读",
        what={"": "{topic} 中有 {dead_letter_count} 条死信，但没有读权限（perm {perm}）。"},
        effect="控制台和消费者都取不到这些死信。",
        advice="把该 topic 的 perm 设为 6。",
        explain="4.9.1 及更早的 broker 创建的死信 topic 只有写权限。",
    ),
    "MQ408": Text(
        title="消费已被禁用",
        what={
            "": "消费组 {group} 的 consumeEnable=false：broker 拒绝它的拉取请求。",
            "unused": "消费组 {group} 的 consumeEnable=false，没有成员在线，也没有积压。",
        },
        effect="该组无法从这个 broker 消费任何消息，积压 {lag_count} 条。",
        advice="如果不是有意禁用，请重新启用；开启 disableConsumeIfConsumerReadSlowly 时，broker 会自动禁用读得太慢的消费组。",
        explain="consumeEnable 是消费组在每个 broker 上的配置。",
    ),
    "MQ409": Text(
        title="broker 强制修正过位点",
        what={"": "broker 对消费组 {group} 在 {topic} 上的位点修正了 {jump_count} 次，最近一次在 {last_time_ms}。"},
        effect="跳过了 {skipped_count} 条消息；位点后退的地方，消息被重复投递。",
        advice="在这些时间点附近排查消息过期、队列被清空或误重置位点。",
        explain="拉取位点超出队列范围时，broker 返回修正后的位点，4.9 的 broker 还会向 OFFSET_MOVED_EVENT 写一条事件（5.3 不写）。测试工具产生的事件不计入。",
    ),
    "MQ415": Text(
        title="没有位点的消费组从末尾开始",
        what={
            "": "消费组 {group} 在 {topic} 的 {queue_count} 个队列（{queues}）没有位点，从末尾开始：已存储的 {skipped_count} 条消息不会给它。",
            "old": "消费组 {group} 的 4.x 客户端在 5.x broker 上 {topic} 的 {queue_count} 个空队列（{queues}）没有位点。",
        },
        effect="在它的第一个消费者之前存储的消息永远不会投递给它。",
        advice="如果需要这些消息，现在就按时间重置。4.x 客户端连接 5.x broker 时，请在首次启动前和扩容队列前先为消费组写好位点（见下一条命令），或先启动消费者再启动生产者。",
        explain="CONSUME_FROM_LAST_OFFSET 在最早的消息已被删除或已不在内存中的队列上从末尾开始。第一条消息还在内存中时，broker 对没有位点的组回答 0，全部消息都会投递。对空队列，5.x broker 不给出位点：4.x 客户端随后取队列末尾，期间到达的消息会被跳过（实测首次启动约四次出现一次）。",
    ),
}
