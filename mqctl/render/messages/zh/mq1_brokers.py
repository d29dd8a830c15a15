"""MQ1, brokers: the words of `mqctl.diagnosis.mq1_brokers` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ110": Text(
        title="broker 磁盘将满",
        what={
            "early": "{broker} 的磁盘已用 {disk_used_share}：文件会提前删除。",
            "forced": "{broker} 的磁盘已用 {disk_used_share}：无论多新都会删除文件。",
            "refused": "{broker} 的磁盘已用 {disk_used_share}：拒绝发送。",
        },
        effect="尚未消费的消息会被删除；超过 90% 之后无法发送任何消息。",
        advice="扩容磁盘或调小 fileReservedTime；检查哪些消费组的积压即将过期。",
        explain="broker 平时在固定时刻删除，75% 起随时删除，85% 起不看文件年龄，90% 起对发送返回 14。",
    ),
    "MQ111": Text(
        title="broker 的 page cache 繁忙",
        what={"": "{broker} 上一次追加写占用 page cache 锁已达 {lock_ms}。"},
        effect="超过一秒后 broker 以返回码 2 拒绝发送。",
        advice="检查该机器的磁盘 I/O、交换区和内存压力。",
        explain="pageCacheLockTimeMills 是正在进行的追加写的持续时间；正常情况不到一毫秒。",
    ),
    "MQ112": Text(
        title="请求在 broker 中排队",
        what={
            "send": "{broker} 上的发送请求已等待 {wait_ms}，共 {waiting_count} 个。",
            "pull": "{broker} 上的拉取请求已等待 {wait_ms}，共 {waiting_count} 个。",
            "query": "{broker} 上的查询请求已等待 {wait_ms}，共 {waiting_count} 个。",
        },
        effect="等待过久的请求会收到返回码 2（繁忙），生产者不会重试这种错误。",
        advice="查清是什么拖慢了 broker：磁盘、刷盘方式、垃圾回收；否则分散负载。",
        explain="查看发送（上限 200 ms）、拉取（5 s）和查询队列中最早请求的等待时间。",
    ),
    "MQ113": Text(
        title="消费队列落后于提交日志",
        what={"": "{broker} 的提交日志中有 {behind_bytes} 尚未分发到消费队列。"},
        effect="这些消息已存储，但消费者还看不到。",
        advice="检查消费队列所在的磁盘；如果刚启动，请等待分发追上。",
        explain="dispatchBehindBytes 是提交日志末尾与已分发位置之间的距离。",
    ),
    "MQ114": Text(
        title="追加写缓慢",
        what={"": "{broker} 上每一百次追加写就有一次超过 {append_ms}。"},
        effect="生产者要等待同样长的时间，三秒后超时。",
        advice="检查磁盘延迟和刷盘方式。",
        explain="取 5.x 提供的 putLatency99；上限为 50 ms。",
    ),
    "MQ115": Text(
        title="堆外缓冲耗尽",
        what={"": "{broker} 的 transientStorePool 只剩 {buffer_count} 个缓冲。"},
        effect="在缓冲写回之前，发送会被拒绝。",
        advice="调大 transientStorePoolSize，或查清提交为何缓慢。",
        explain="开启 transientStorePoolEnable 后消息先写入缓冲池；池空时 broker 返回 2。",
    ),
    "MQ119": Text(
        title="broker 内部主题的记录被跳过",
        what={"": "{broker} 启动以来，{topic} 中有 {record_count} 条记录无法处理，已跳过。"},
        effect="这些记录对应的延时、定时消息不会投递，对应的事务消息不会回查。",
        advice="broker 的日志写明每条记录及其原因。用 mqctl store cat --physical-offset 查看，修正发送方，需要的消息重新发送。",
        explain="定时、延时等级或事务回查遇到无法解析的记录时，若停下就会挡住后面所有记录；broker 因此计数"
        "（运行信息中的 recordsSetAside_主题）后继续。",
    ),
}
