"""MQ423, MQ426, retries: the words of `mqctl.diagnosis.mq4_retries` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ423": Text(
        title="重试没有尽头",
        what={
            "": "在查看的 {sampled_count} 条消息中，消息 {key} 有 {copy_count} 份以同样的重试次数 {tries_count} 回到消费组 {group}：次数没有增加。",
            "over": "一条消息在重试 {tries_count} 次后又回到消费组 {group}；最多允许 {most} 次，之后应进入死信队列。",
        },
        effect="消息反复被消费，永远不会进入死信队列，直到消费成功为止负载一直存在。",
        advice="查看该消息（mqctl retry list）和监听器失败的原因，升级不计重试次数的客户端和 broker（5.0 的顺序消费），或跳过该消息。",
        explain="读取最多 32 个重试主题中最新的 8 条消息。每次失败次数应加一；达到 retryMaxTimes（或客户端自己更大的上限）后应进入死信队列。刚刚调低上限时也会这样。",
    ),
    "MQ427": Text(
        title="消息反复消费失败",
        what={"": "消费组 {group} 有消息已失败 {tries_count} 次或更多，正在延迟级别 {levels} 中等待下一次重试。"},
        effect="堆积量看不到这些消息，两次重试之间也没有失败计数。重试用完之后它们成为死信。",
        advice="查看消费者日志中监听器抛出的异常；用 mqctl retry list 查看何时成为死信。",
        explain="读取每个延迟级别中部分等待的消息。只失败一两次可能是偶发，不报告。",
    ),
    "MQ426": Text(
        title="消费失败的消息被丢弃",
        what={"": "消费组 {group} 在 {broker} 上没有重试队列（retryQueueNums={queue_count}）。"},
        effect="消费者把失败的消息发回时，broker 回答成功却丢弃它：不重试，不进死信队列，也没有任何错误日志。",
        advice="把 retryQueueNums 设为 1 或更大：`mqctl group update -g {group} --retry-queues 1`。被丢弃的消息在过期之前仍在原 topic 中，可以从那里重放。",
        explain="无论 5.0 之前还是之后，只要消费组的 retryQueueNums 不大于 0，broker 就会提前结束消息发回。顺序消费和 POP 消费不会发回消息。",
    ),
}
