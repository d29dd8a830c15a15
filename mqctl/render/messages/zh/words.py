"""Words of plans, changes and gaps in Chinese: states, kinds, parts of a snapshot. Looked up only where no name can stand."""

from __future__ import annotations

from mqctl.render.messages.zh.reasons import PARTS

_STATES = {
    "planned": "已计划",
    "unchanged": "不变",
    "impossible": "无法执行",
    "confirmed": "已确认",
    "not-moved": "未移动",
    "not-done": "未完成",
    "unknown": "未知",
    "interrupted": "已中断",
    "sent": "已发送",
    "sending": "正在发送",
    "waiting": "等待中",
    "failed": "失败",
    "went-back": "已退回",
    "consumed-on": "已继续消费",
    "complete": "已完成",
    "in-doubt": "存疑",
    "started": "已开始",
    "reached": "已到达",
    "drained": "已消费完",
    "stopped": "已停止",
    "nothing-to-do": "无需变更",
}
_KINDS = {
    "broker": "Broker 设置",
    "topic": "Topic",
    "group": "消费组",
    "route": "路由",
    "order": "顺序配置",
    "write-perm": "写权限",
    "user": "用户",
    "entry": "权限条目",
}
_FATES = {"send": "发送", "resent": "已重发", "doubtful": "存疑", "stuck": "无法重发"}
_OTHERS = {
    "move": "移动",
    "moves": "移动",
    "change": "有变更",
    "changes": "有变更",
    "has other settings and stays as it is": "设置不同，保持不变",
    "have other settings and stay as they are": "设置不同，保持不变",
    "keys": "Key",
    "sharding keys": "分区 Key（sharding key）",
    "holding": "暂停",
    "going on": "继续",
    "the last look was taken": "已完成最后一次",
    "rewritten": "已重写",
    "set": "已设置",
    "created": "已创建",
    "deleted": "已删除",
}

WORDS = {**_STATES, **_KINDS, **_FATES, **_OTHERS, **{str(part): text for part, text in PARTS.items()}}
