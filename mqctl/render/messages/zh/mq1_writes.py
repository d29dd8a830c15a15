"""MQ117, MQ118, writes: the words of `mqctl.diagnosis.mq1_writes` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ117": Text(
        title="写入慢",
        what={"": "最近一分钟 {broker} 的 {write_count} 次写入中有 {slow_count} 次达到 500 毫秒以上，最慢 {worst}。"},
        effect="发送方超时或被告知系统繁忙，重试又增加负载。",
        advice="查看那一分钟的磁盘、page cache 和 JVM 停顿。过期文件在 {delete_when} 点删除（deleteWhen），会加重磁盘负载。",
        explain="读取 broker 按分钟统计的写入耗时分布；启动后第一分钟没有。",
    ),
    "MQ118": Text(
        title="写入失败",
        what={"": "{window_ms} 内 {broker} 有 {failed_count} 次写入失败。"},
        effect="这些消息的发送方得到错误或没有应答。",
        advice="查看磁盘空间和 broker 日志，并用 mqctl message probe 向自己的 topic 发一条消息：应答会说明被拒绝的原因。",
        explain="比较两次查看的 putMessageFailedTimes。",
    ),
}
