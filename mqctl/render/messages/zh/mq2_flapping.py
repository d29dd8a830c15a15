"""MQ221, flapping: the words of `mqctl.diagnosis.mq2_flapping` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ221": Text(
        title="成员整天反复上下线",
        what={
            "": "一天之内消费组 {group} 有 {host_count} 台机器共 {return_count} 次离开又回来，最近一次在 {last_time_ms}（{hosts}）。",
            "over": "{first_time_ms} 至 {last_time_ms} 之间消费组 {group} 有 {host_count} 台机器共 {return_count} 次离开又回来（{hosts}），此后恢复平静。",
        },
        effect="每次都会重新分配队列：消费暂停，处理中的消息会再次投递。",
        advice="查找是什么让这些机器重启或断开：崩溃循环、杀掉进程的探针、内存限制、JVM 停顿、网络。",
        explain="在最近一天的录制中，统计一台机器在某次查看时没有该组成员、之后又有的次数。一次发布只会让每台机器离开一次；四次超过了三次发布。没有录制的时段不计为回来。",
    ),
}
