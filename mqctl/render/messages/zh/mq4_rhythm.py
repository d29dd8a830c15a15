"""MQ433, MQ434, rhythm: the words of `mqctl.diagnosis.mq4_rhythm` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

_EXPLAIN = (
    "把录制中最后一个完整小时与往日同一小时比较，最多四周：同一星期几有三次以上就用它们，否则同时用同一星期几和所有日子。"
    "采用中位数和绝对中位差，个别坏日子或节假日不会影响预期。至少需要一周的录制，且低于平时的一半（或超过两倍）、偏离四个离差才报告。"
    "节假日当天可能会报告。"
)

RULES: dict[str, Text] = {
    "MQ433": Text(
        title="消费组偏离平时的节奏",
        what={
            "": "消费组 {group} 在 {hour_time_ms} 开始的一小时里消费了 {topic} 的 {hour_count} 条消息，而这一小时发送了 {sent_count} 条。这一小时平时为 {usual_count} 条（往日 {day_count} 天的中位数）。"
        },
        effect="这一小时的消息在等待，或者本应在此时运行的任务没有运行。",
        advice="查看当时成员是否在线、任务或调度是否改动、监听器是否失败。",
        explain=_EXPLAIN + "如果发送量同样少，消费组是正常的。",
    ),
    "MQ434": Text(
        title="topic 偏离平时的节奏",
        what={
            "": "{hour_time_ms} 开始的一小时里 {topic} 收到 {hour_count} 条消息。这一小时平时为 {usual_count} 条（往日 {day_count} 天的中位数）。",
            "more": "{hour_time_ms} 开始的一小时里 {topic} 收到 {hour_count} 条消息，远多于这一小时的平时值 {usual_count} 条（往日 {day_count} 天的中位数）。",
        },
        effect="topic 的上游有变化：生产者无法发送、任务没有运行，或有任务在循环发送。消费者是按平时的流量配置的。",
        advice="询问生产者的负责人；查看谁在连接、发送是否被拒绝。",
        explain=_EXPLAIN,
    ),
}
