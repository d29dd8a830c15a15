"""MQ4, movement: the words of `mqctl.diagnosis.mq4_movement` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ410": Text(
        title="位点停滞",
        what={
            "": "消费组 {group} 在 {broker} 上 {topic} 的队列 {queue_id} 停在 {consumer_offset}，而 {window_ms} 内新到 {arrived_count} 条消息。"
        },
        effect="积压 {lag_count} 条消息。如果是某条消息卡住了位点，重启会重复其后的全部消息。",
        advice="找到该队列的归属实例并抓取堆栈。",
        explain="两次观察相隔至少一分钟：队列在增长，位点没有前进，而消费组有在线成员。",
    ),
    "MQ411": Text(
        title="位点回退",
        what={
            "": "消费组 {group} 在 {broker} 上 {topic} 的队列 {queue_id} 于 {window_ms} 内从 {earlier_offset} 退回到 {consumer_offset}。"
        },
        effect="{repeated_count} 条消息会再次消费。",
        advice="按时间和范围区分：重置或重放记录在 mqctl history 中，并移动整个 topic；broker 崩溃或切换会让所有消费组回退最近几秒；两个实例持有同一队列时，位点会来回移动。",
        explain="客户端只会增大位点；回退来自重置、重放或第二个归属者。",
    ),
    "MQ412": Text(
        title="消费失败",
        what={
            "": "消费组 {group} 在 {topic} 上有 {failed_share} 的消费失败。每次失败都会以重试的形式回来，最后一次重试仍失败则成为死信。",
            "broadcasting": "消费组 {group} 消费 {topic} 的失败率为 {failed_share}。该组是广播消费：失败的消息不会重试，在该实例上即丢失。",
            "orderly": "顺序消费组 {group} 在 {topic} 上有 {failed_share} 的消费失败。失败的消息在原地重试，除非设置了 maxReconsumeTimes 否则没有次数限制，其后的消息都在等它。",
        },
        effect="失败增加负载，后面的消息也会延迟。",
        advice="查看监听器的错误以及重试消息中的原因。",
        explain="汇总各实例报告的速率；失败占 1% 以上即视为消费失败。",
    ),
    "MQ413": Text(
        title="死信在增长",
        what={"": "{window_ms} 内有 {new_count} 条消息进入 {topic}。"},
        effect="它们已失败到允许的次数，不会再被消费。",
        advice="先排除原因，再重新投递。",
        explain="比较两次观察之间死信队列的末尾。",
    ),
    "MQ414": Text(
        title="积压永远消化不完，或消化得太晚",
        what={
            "never": "消费组 {group} 每秒处理 {topic} 的 {out_tps} 条消息，而每秒到达 {in_tps} 条：积压的 {lag_count} 条不会减少。瓶颈：{bound_word}。",
            "late": "每秒处理 {out_tps} 条、到达 {in_tps} 条，消费组 {group} 在 {topic} 上的 {lag_count} 条积压需要 {drain_ms}，"
            "而保留期在 {expires_in_ms} 后就会轮到它们。瓶颈：{bound_word}。",
        },
        effect="消费者越落越远，直到文件在被读取之前就被删除。",
        advice="对已积压的消息有帮助的：{remedy_words}。新增队列只接收新消息。",
        explain="两次观察得出队列进出的速率，间隔由 --window 决定。并发消费的实例的各队列共用线程，顺序消费的队列只有一个线程。"
        "窗口短于消费者提交间隔（5 秒）时没有速率。",
    ),
    "MQ418": Text(
        title="没有成员在线而消息在被 POP",
        what={"": "消费组 {group} 在 {window_ms} 内 POP 了 {consumed_count} 条消息，而没有任何 broker 知道它的成员。"},
        effect="从这里无法列出或判断它的成员。",
        advice="它的客户端可能在某个 Proxy 之后，而 broker 上没有该 Proxy 的心跳；或有工具在不发心跳地 POP。请向 Proxy 查询客户端：--proxy HOST:PORT。",
        explain="比较两次查看的已提交位点，并读取该组最近一次 POP 的时间：管理员移动的位点不会被报告。Proxy 的客户端只与 Proxy 连接，不与 broker 连接；Proxy 之间经由 broker 互相通告的内容会被读取。",
    ),
    "MQ419": Text(
        title="没有保存的进度",
        what={
            "": "消费组 {group} 的 {client} 在 {queue_count} 个队列（{queues}）上比 broker 保存的位点超前 {ahead_count} 条，而它最后一次消费已过去半分钟。"
        },
        effect="重启或重平衡后，这些消息会再次投递。",
        advice="在客户端日志中查找提交位点失败的记录，并检查是否有别的程序提交同一消费组的位点（第二个应用、重置）。",
        explain="比较成员内存中的位点与 broker 保存的位点。成员每五秒提交一次；仍在缓存或消费中的不计算。",
    ),
    "MQ424": Text(
        title="成员缓存着位点之前的消息",
        what={
            "": "消费组 {group} 的 {client} 在 {queue_count} 个队列（{queues}）的缓存中仍有 {below_count} 条位于 broker 所存位点之前的消息：积压显示为 {lag_count}，成员实际持有 {cached_count} 条。"
        },
        effect="积压显示偏低。成员此时停止，位点之前的这些消息会被跳过；成员此时提交，位点会回退。",
        advice="如果刚重置或跳过位点，请半分钟后再看：成员大约在 10 秒内接受新位点。若仍然如此，请查找还有谁在提交该消费组的位点：另一个应用、工具，或队列的第二个持有者。",
        explain="成员提交的是它持有的最小位点，因此高于它的已存位点是别人写入的。使用 --window 时，两次查看都如此才是确定的。",
    ),
}
