"""MQ7, transactions: the words of `mqctl.diagnosis.mq7_transactions` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ720": Text(
        title="事务消息悬而未决",
        what={
            "": "生产者组 {group} 有 {pending_count} 个事务（{topics}）既未提交也未回滚，最久的已 {oldest_ms}，最多回查过 "
            "{most_checks_count} 次。"
        },
        effect="这些消息对消费者不可见；回查 15 次后将被丢弃。",
        advice="检查该组是否有生产者在线，以及其事务监听器返回什么。",
        explain="从回查进度开始、没有 op 消息对应的半消息；同一事务的多个副本只算一次。产生不到一分钟左右的属于正常。",
    ),
    "MQ721": Text(
        title="事务消息即将被丢弃",
        what={
            "": "生产者组 {group} 的 {pending_count} 个事务（{topics}）最多已回查 {most_checks_count} 次，仍没有答复，最早的已有 {oldest_ms}。"
        },
        effect="回查满 15 次 broker 就会放弃，业务数据可能不一致。",
        advice="查看该组有哪些生产者在线，并让它们的事务监听器在最后一次回查之前答复提交或回滚。",
        explain="broker 每轮（60 s，5.1.1 起 30 s）向该组任意一个生产者回查一次并计数。",
    ),
    "MQ722": Text(
        title="事务消息已被丢弃",
        what={"": "broker 已放弃生产者组 {group} 的 {discarded_count} 个事务（{topics}），最近一次在 {last_time_ms}。"},
        effect="即使生产者在自己的数据库中已经提交，消费者也永远收不到这些消息。",
        advice="与生产者的业务记录核对，补发缺失的消息。",
        explain="回查 15 次没有答复或超过保留时间的半消息，会被复制到 TRANS_CHECK_MAX_TIME_TOPIC，之后不再处理。",
    ),
    "MQ723": Text(
        title="已提交的事务缺少 op 消息",
        what={
            "": "生产者组 {group} 有 {transaction_count} 个已提交的事务没有 op 消息，第一个的半消息位点是 {first_half_offset}。"
        },
        effect="broker 会再次回查；如果再次提交，消息会被重复投递。",
        advice="消费端做好幂等；5.x broker 崩溃最多会丢失 3 s 的 op 消息。",
        explain="提交时先写目标消息，再写用于关闭半消息的 op 消息。",
    ),
    "MQ724": Text(
        title="事务被重复提交",
        what={"": "生产者组 {group} 有 {transaction_count} 个事务被多提交了 {extra_count} 次（例如唯一键 {key}）。"},
        effect="消费者会收到同样多份重复消息。",
        advice="消费端做好幂等；排查重复结束同一事务的生产者。",
        explain="结束事务时 broker 不检查是否已有答复：每次提交都会再写一条目标消息。",
    ),
    "MQ725": Text(
        title="悬而未决的事务没有生产者可回查",
        what={
            "": "生产者组 {group} 有 {pending_count} 个事务（{topics}）悬而未决，最早的已有 {oldest_ms}，最多已回查 {most_checks_count} 次，而该组没有任何生产者"
            "连接到这个 broker。"
        },
        effect="broker 的回查无人接收，次数却照样累计；满 15 次后事务将被放弃。",
        advice="启动该组带事务监听器的生产者；之后再恢复已被丢弃的事务。",
        explain="broker 只会向以该事务所属生产者组身份连接到自己的客户端回查。",
    ),
    "MQ726": Text(
        title="事务回查停滞",
        what={"": "{broker} 有 {half_count} 条半消息待回查，而回查位点在 {window_ms} 内停在 {recorded_offset}。"},
        effect="生产者已离开的事务既不提交也不回滚，也不会被放弃。",
        advice="在 broker 日志中查找事务服务的错误：op 队列被截断或删除会使其停住。修复后重启 broker。",
        explain="比较两次查看中回查在半消息队列的位点，间隔至少两轮。每一轮都会把等待的消息放到末尾，因此即使没有应答也会前进。",
    ),
    "MQ727": Text(
        title="带延迟的事务消息",
        what={"": "生产者组 {group} 的 {transaction_count} 条半消息带有延迟级别（topic {topics}）。"},
        effect="半消息走了延迟消息的路径：反复回查，十五次之后被丢弃。",
        advice="不要给事务消息设置延迟；事务结束后再发送延迟消息。",
        explain="查看等待结束的半消息的属性。",
    ),
}
