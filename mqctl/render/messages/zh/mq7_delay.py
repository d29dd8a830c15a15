"""MQ7, delay: the words of `mqctl.diagnosis.mq7_delay` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ701": Text(
        title="延迟位点超出队列末尾",
        what={"": "延迟级别 {level} 记录的位点是 {recorded_offset}，超出队列末尾（{max_offset}）{beyond_count} 条。"},
        effect="4.9.1 及更早的 broker 永远不会投递该级别接下来的 {beyond_count} 条消息；4.9.2 起启动时会自动修正。无论哪种情况，"
        "都说明存储丢失了尾部。",
        advice="修复该文件之前，先查清丢了什么（提交日志被截断、slave 被提升为 master）。",
        explain="delayOffset.json 记录每个级别下一条要投递的位点；除非队列被截断，它不可能超出延迟队列。",
    ),
    "MQ702": Text(
        title="延迟位点低于队列最小位点",
        what={"": "延迟级别 {level} 记录的位点是 {recorded_offset}，低于队列最小位点 {min_offset}。"},
        effect="{lost_count} 条延迟消息未投递就已过期。",
        advice="从消息来源补发；延迟时间要远小于文件保留时间。",
        explain="低于最小位点的条目所指的消息，位于已被过期清理的提交日志文件中。",
    ),
    "MQ703": Text(
        title="延迟级别没有位点记录",
        what={"": "延迟级别 {level} 没有位点记录，但它的消息已投递过 {delivered_count} 条。"},
        effect="下次启动会把该级别的全部 {again_count} 条消息重新投递一遍。",
        advice="在 broker 停止时，把该级别及位点 {max_offset}（或第一条未投递消息的位点）补写到 delayOffset.json 及其 .bak 中。",
        explain="缺失的级别从 0 开始投递。从未投递过的级别本来就没有记录，因此本规则要求已找到投递后的副本。",
    ),
    "MQ704": Text(
        title="delayOffset.json 已丢失",
        what={"": "delayOffset.json 不可用（{problem}），备份也不可用。"},
        effect="下次启动会把仍在存储中的全部 {again_count} 条延迟消息重新投递一遍，其中 {due_count} 条早已到期。",
        advice="在 broker 停止时，从 slave 或拷贝恢复该文件，或根据队列重建。",
        explain="两个文件都没有时，broker 让每个级别从 0 开始，且不给任何提示。",
    ),
    "MQ705": Text(
        title="级别表中没有的延迟级别",
        what={
            "waiting": "{waiting_count} 条消息在延迟级别 {level} 上等待，而级别表只到 {max_level}。",
            "empty": "delayOffset.json 中有延迟级别 {level}，而级别表只到 {max_level}。",
            "key": "delayOffset.json 中的键 {key} 不是延迟级别。",
        },
        effect="超出级别表的级别没有投递任务，其中的消息永远不会投递。",
        advice="把该级别加回 messageDelayLevel，或重新发送其中的消息。如果 broker 用的不是默认级别表，请用 --levels 指明。",
        explain="级别是 messageDelayLevel 中的位置；缩短列表会让被去掉的级别上等待的消息滞留。",
    ),
    "MQ706": Text(
        title="delayOffset.json 早于最近的投递",
        what={"": "延迟级别 {level} 在记录位点 {recorded_offset} 之后，有 {again_count} 条消息其实已经投递过。"},
        effect="下次启动会重复投递这些消息。",
        advice="在 broker 停止时，把 delayOffset.json 及其 .bak 中该级别的位点改为 {first_undelivered_offset}，或依靠消费端幂等。",
        explain="该文件每 10 s 写一次，被强杀会丢失其间的投递进度。投递后的副本按唯一键在目标 topic 中查找。",
    ),
    "MQ707": Text(
        title="延迟消息逾期未投递",
        what={"": "延迟级别 {level} 有 {overdue_count} 条消息逾期未投递，最久的已逾期 {late_ms}。"},
        effect="该级别的延迟消息和重试消息会晚这么久才到，或者一直不到。",
        advice="查看 broker 当时是否停机、无法写入，或被队首消息阻塞。",
        explain="到期时间写在延迟队列条目中；到期超过观测时刻 2 s 且找不到投递副本的算逾期。",
    ),
    "MQ708": Text(
        title="延迟级别被队首消息阻塞",
        what={
            "no-real-topic": "延迟级别 {level} 的下一条消息没有写明目标 topic。",
            "no-real-queue-id": "延迟级别 {level} 的下一条消息没有写明目标队列。",
            "bad-real-queue-id": "延迟级别 {level} 的下一条消息的目标队列不是数字。",
            "bad-topic-length": "延迟级别 {level} 的下一条消息的目标 topic 名超过允许的长度。",
        },
        effect="从 4.9.3 起 broker 每 100 ms 重试一次，永不放弃；该级别的 {blocked_count} 条消息都被堵在后面。",
        advice="在 broker 停止时把该级别的位点移过这条消息，再手工补发它。",
        explain="每个级别严格先进先出；更早的 broker 会直接丢弃这样的消息。",
    ),
    "MQ728": Text(
        title="死信在延迟级别里等待",
        what={"": "延迟级别 {level}（{delay_ms}）里有发往 {topics} 的消息：最后一次重试保留了延迟。"},
        effect="死信要到该级别到期才出现，最多晚两小时；在此之前两个主题里都没有它。",
        advice="等待到期，或升级 broker：新版本会清除放弃的消息的延迟。",
        explain="读取每个级别中部分等待消息的目标主题。只有最后一次失败的重试才会把死信主题放进去。",
    ),
    "MQ709": Text(
        title="延迟消息找不到对应的记录",
        what={
            "": "延迟级别 {level} 有 {lost_count} 个等待中的条目在提交日志中找不到消息，第一个在位点 {first_offset}。"
        },
        effect="broker 会静默跳过它们：这些消息已经丢失。",
        advice="从消息来源补发；查清提交日志为什么被截断。",
        explain="延迟队列的每个条目都必须指向提交日志中的一条消息。",
    ),
    "MQ710": Text(
        title="延迟级别表被修改过",
        what={
            "early": "延迟级别 {level} 有 {message_count} 条等待中的消息按 {indexed_delay_ms} 写入，而级别表现在是 "
            "{configured_delay_ms}。",
            "late": "延迟级别 {level} 有 {message_count} 条等待中的消息按 {indexed_delay_ms} 写入，而级别表现在是 "
            "{configured_delay_ms}。",
        },
        effect="延迟改短后，等待中的消息会立即投递；改长后，它们仍按原来的延迟投递。",
        advice="如果 broker 用的不是默认级别表，请用 --levels 指明；否则查清是谁改了 messageDelayLevel。",
        explain="到期时间在写入条目时就已固定：存储时间加上当时级别表中的延迟。",
    ),
    "MQ711": Text(
        title="修改级别表后重建过延迟队列",
        what={"": "延迟级别 {level} 较早的条目用的是当前配置的延迟 {configured_delay_ms}，较新的条目却是另一个延迟。"},
        effect="修改之前写入的消息，投递时间与当初承诺的不同。",
        advice="核对 messageDelayLevel 与生产者的预期；重建会重新计算到期时间。",
        explain="删除消费队列后，恢复过程会按当时的级别表重新写入。",
    ),
    "MQ712": Text(
        title="延迟时间达到文件保留时间",
        what={"": "延迟级别 {level} 要等 {configured_delay_ms}，而文件只保留 {retention_ms}。"},
        effect="该级别的消息还没到期就会被删除。",
        advice="把 fileReservedTime 调到远大于最长延迟，或缩短该级别。",
        explain="消息在等待期间位于提交日志中，过期清理不管它是否已投递。",
    ),
    "MQ713": Text(
        title="到期时间跳变",
        what={
            "": "延迟级别 {level} 有 {descending_count} 个条目的到期时间早于前一条，{beyond_horizon_count} 个条目的到期时间超出该级别"
            "延迟所能达到的范围。"
        },
        effect="broker 的时钟被回拨过：消息会提前到达或集中到达。",
        advice="在 broker 上运行 NTP，并采用渐进校时。",
        explain="同一级别的延迟相同，存储时间递增，因此到期时间也必须递增。",
    ),
    "MQ714": Text(
        title="磁盘已满导致延迟消息逾期",
        what={"": "{overdue_count} 条延迟消息逾期未投递，磁盘使用率 {disk_used_share}。"},
        effect="磁盘使用率超过 90 % 时 broker 拒绝写入，延迟投递也是写入：所有级别都会停住。",
        advice="释放磁盘空间，投递会自动继续。如果这是拷贝出来的存储，这里看到的是拷贝所在的磁盘，而不是 broker 的磁盘。",
        explain="延迟投递就是向目标 topic 写入一条消息。",
    ),
    "MQ716": Text(
        title="定时消息读取过晚",
        what={"": "{broker} 的定时器落后时钟 {behind_ms}，{waiting_count} 条消息等待进入时间轮。"},
        effect="定时消息会晚同样久才投递。",
        advice="查看 broker 的磁盘，以及同一秒到期的消息数量。",
        explain="5.x 的 timerReadBehind：定时器正在读取的秒与时钟相比。超过十秒就是晚了。",
    ),
    "MQ717": Text(
        title="延迟消息被越过",
        what={
            "": "延迟级别 {level} 从位点 {first_offset} 起有 {lost_count} 条消息从未投递，而记录的位点已经是 {recorded_offset}。",
            "partly": "延迟级别 {level} 从位点 {first_offset} 起至少有 {lost_count} 条消息从未投递，而记录的位点已经是 {recorded_offset}。"
            "更早的 {unseen_count} 条没有检查。",
        },
        effect="这些消息已经丢失：broker 从记录的位点继续投递。",
        advice="停止 broker，把该级别的位点改回 {first_offset}：其后已投递过的消息会再次投递，计划中会给出数量。",
        explain="记录位点之前的每条消息，在目标队列中都必须有一条唯一键相同的副本。没有唯一键的消息、主题已删除的消息无法比较。"
        "检查位点之前最新的 8,192 条；其中若有被越过的，则继续向前检查。在线 broker 不做此检查。",
    ),
}
