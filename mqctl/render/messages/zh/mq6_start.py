"""MQ644, settings read at the start: the words of `mqctl.diagnosis.mq6_start` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ644": Text(
        title="配置要重启后才生效",
        what={"": "{broker} 的配置是 {setting}，但启动时应为此创建的 topic {topic} 不存在。"},
        effect="配置显示为开启，实际没有作用：它是在运行时修改的，而 broker 只在启动时读取。",
        advice="重启 broker，或用 mqctl topic create 创建该 topic。",
        explain="把两个开关与 broker 启动时为它们创建的 topic 比较：autoCreateTopicEnable 对应 TBW102，traceTopicEnable 对应消息轨迹 topic。",
    ),
}
