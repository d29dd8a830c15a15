"""MQ1, store: the words of `mqctl.diagnosis.mq1_store` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ101": Text(
        title="broker 正在运行，或上次未正常关闭",
        what={
            "": "存在 `abort` 文件：broker 正在运行，或上次没有正常关闭。",
            "runs": "进程 {pid} 持有存储的锁：broker 正在运行（始于 {started_time_ms}）。运行中的 broker 本来就有 abort 文件。",
        },
        effect="下次启动将走异常恢复流程：重新校验消息并重建索引；提交日志中还有 {not_dispatched_bytes} 未分发到任何消费队列。",
        advice="如果 broker 已停止，请让它自行恢复并观察 store 日志；不要手工删除 `abort`。",
        explain="broker 启动时创建空文件 `abort`，正常关闭时删除。5.x 正常关闭后会留下 `abort.bak`，没有特别含义。",
    ),
    "MQ102": Text(
        title="checkpoint 不可用",
        what={
            "zero": "checkpoint 全为零：没有任何刷盘记录。",
            "missing": "没有 checkpoint 文件。",
            "unreadable": "checkpoint 文件太短，放不下其中的时间戳。",
        },
        effect="异常恢复找不到起点，将从第一个文件开始读取整个提交日志（{commit_log_bytes}）。",
        advice="启动耗时会变长，请提前预留。如果 checkpoint 原本存在，请检查这份拷贝是怎么做的。",
        explain="checkpoint 记录提交日志、消费队列和索引各自刷盘到的存储时间。崩溃后的恢复从早于这些时间的最新文件开始。",
    ),
    "MQ103": Text(
        title="消费队列落后于提交日志",
        what={
            "": "{topic} 的队列 {queue_id} 只到位点 {queue_max_offset}，而提交日志中该队列的消息已到 {log_max_offset}。"
        },
        effect="已存储的 {missing_count} 条消息在 broker 重新分发之前对消费者不可见。",
        advice="启动 broker，恢复过程会补上缺失的条目；如果启动后仍然如此，说明分发（reput）已卡住。",
        explain="broker 先写提交日志 CommitLog，稍后再写消费队列 ConsumeQueue。被强杀后最后几条会缺失；正常关闭不会留下缺口。",
    ),
    "MQ104": Text(
        title="存储已损坏",
        what={
            "": "{file} 中有 {deviation_count} 处损坏（{kind}），第一处在字节 {byte_offset}。",
            "size": "{file} 的长度是 {first_found} 字节，相邻文件是 {first_expected} 字节。",
            "odd": "{file} 是提交日志的唯一文件，长度 {first_found} 字节，而 broker 通常设为 2 的幂。除非 mappedFileSizeCommitLog 正好是这个值，否则文件被截断了，broker 会拒绝启动。",
            "cut": "{file} 的长度是 {first_found} 字节，不是提交日志文件常见的大小：文件被截断了，除非 mappedFileSizeCommitLog 正好是这个值。",
            "no-log": "没有提交日志，而消费队列和索引文件中有 {deviation_count} 个条目指向它：日志丢失、没有拷贝，"
            "或者在别处（storePathCommitLog）。",
            "gone": "{topic} 的 {queue_count} 个消费队列（{queues}）的文件不见了：提交日志中的 {deviation_count} 条消息到不了"
            "任何消费者，重启 broker 也不会恢复。",
            "gone-or-anew": "{topic} 的 {queue_count} 个消费队列（{queues}）没有文件，而提交日志中有它们的 {deviation_count} 条"
            "消息：文件不见了，或者该 topic 被删除后重新创建过，可从 broker 当时的日志判断。",
        },
        effect="broker 会在损坏的消息处截断提交日志，或因文件大小不对而拒绝启动，或从损坏的队列返回错误数据；"
        "没有队列指向的消息不会投递。",
        advice="请在拷贝上操作。缺少的提交日志先从其所在位置或其他副本取回。损坏的消费队列和索引可以全部删除后重建：broker 启动时找不到它们，就从提交日志重新生成。"
        "提交日志损坏丢失的部分，从其他副本补回。",
        explain="每条消息校验魔数、长度、物理偏移量和 CRC32，每个队列条目和索引条目与所指消息核对。运行中、被强杀或正在清理文件的 "
        "broker 正常留下的现象不算损坏。",
    ),
    "MQ105": Text(
        title="最后一条消息无法确认",
        what={"": "物理偏移量 {physical_offset} 处的最后一条消息本身完整，但没有其他证据可以印证。"},
        effect="它可能是完整的，也可能是拷贝时正好只写了一半（{record_bytes}）。",
        advice="如果这条消息重要，请重新拷贝最后一个提交日志文件并比对。",
        explain="日志末尾的消息满足以下任一条件才算确认：后面还有有效内容、有消费队列指向它，或 checkpoint 晚于它。",
    ),
    "MQ106": Text(
        title="配置文件只能用备份，或已丢失",
        what={
            "backup": "{file} 不可用（{problem}）；broker 将加载 {used_file_time_ms} 的 {file}.bak。",
            "none": "{file} 不可用（{problem}），也没有可用的备份：broker 启动时将当作没有该文件。",
        },
        effect="位点、topic 或消费组配置会退回到备份时的状态，或从零开始；broker 对此不给任何提示。",
        advice="在 broker 启动之前，从最新的拷贝、slave 或快照恢复该文件。",
        explain="broker 先写 NAME.tmp，把旧文件复制为 NAME.bak，再改名。NAME 缺失、为空或无法解析时使用备份；两者都没有时以空数据启动，"
        "且不报错。",
    ),
    "MQ108": Text(
        title="commit log 的一部分被移到一边",
        what={
            "": "恢复时 commit log 前后不连续，{file_count} 个文件被移到 {file}。",
            "cut": "恢复时 commit log 在 {physical_offset} 处截止（此处不是完整的消息），其后 {length_bytes}、"
            "{sound_record_count} 条完整消息被移到 {file}。",
            "torn": "恢复时 commit log 末尾不完整的部分（{length_bytes}，没有完整消息）被移到 {file}。",
        },
        effect="其中的消息不再提供服务。",
        advice="先用 mqctl store cat --store 读这个目录，需要的消息重新发送，再确认；不需要之后再删除。",
        explain="broker 只提供到第一条损坏消息为止的 commit log，文件之间有缺口时只保留其中一段。RocketMQ 会删除其余部分，"
        "内嵌 broker 则连同说明移到 commitlog.set-aside。确认或删除之前，这一项会一直报告。",
    ),
    "MQ107": Text(
        title="时钟不一致",
        what={
            "producer": "{message_count} 条消息中有 {born_ahead_count} 条的产生时间晚于存储时间，最多晚 {max_born_ahead_ms}。",
            "broker": "broker 的时钟回拨了 {step_back_count} 次，最大 {max_step_back_ms}。",
        },
        effect="延迟消息、事务回查、文件保留和按时间重置位点都会出现同样幅度的偏差。",
        advice="在生产者和 broker 上运行 NTP，并采用渐进校时而不是直接跳变。",
        explain="存储时间取自 broker 时钟，在追加锁内写入，因此沿日志不应减小；产生时间取自生产者时钟，不应比存储时间晚 10 s 以上。",
    ),
    "MQ143": Text(
        title="从节点被截断的消息仍留在文件中",
        what={
            "": "该日志作为从节点曾在物理偏移量 {physical_offset} 处被截断；文件中其后还留有 {cut_bytes} 更早的记录。"
        },
        effect="读取这些文件的程序都会把它们当作消息，mqctl 对该存储的其他结论也不例外。broker 重启后这些记录会重新出现，直到主节点再次截断；"
        "如果在此之前被选为主节点，就会对外提供这些消息。",
        advice="先在主节点运行的情况下把该 broker 作为从节点启动，之后才能选举它。如果这些消息曾向生产者返回成功，请先保存：其他副本都没有。"
        "与主节点的存储比对：`mqctl ha compare`。",
        explain="Controller 模式下，从节点会被截断到与主节点 epoch 一致的位置。截断只移动写入位置，其后的字节、魔数和偏移量都保留。"
        "截断位置由 checkpoint 的 confirm offset 得知；其后的第一条记录存储时间早于其前一条，否则看起来就像时钟回拨（MQ107）。",
    ),
}
