"""What a drill's verdict says, in Chinese."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "kept": "通过：所检查的 {checked} 项承诺均未被违反。",
    "kept-explained": "通过：所检查的 {checked} 项承诺均未被违反；另有 {explained} 处由演练中的事件引起，属于协议允许的范围。",
    "violated": "违反：{broken}",
    "not-judged": "无法判定：已检查的部分没有问题，但并非全部都能检查。",
    "traffic": "Topic {topic}：{lasted} 内发送 {sent} 条，确认 {acknowledged} 条，被拒绝 {failed} 条，无应答 {unknown} 条，"
    "投递 {delivered} 次",
    "unanswered": "无应答的 {unknown} 次发送不作任何承诺：这些消息可能已存储，也可能没有。",
    "not-checked": "未检查（本次演练没有此类消息）：{promises}。",
    "no-limit": "未检查：late（计划中没有设置 late_after）。",
    "no-end": "历史记录没有结尾：演练被中断，或仍在运行。",
    "torn": "最后一行不完整，其中 {bytes} 字节未计入。",
    "undecided": "历史记录结束时，{reader} 还有 {count} 条消息未收到，但期限未到。",
    "nothing-owed": "没有任何应投递的消息：没有消息被确认，或没有消费组参加。",
    "result": "检查 {checked} 处，违反 {broken} 处",
    "result-explained": "检查 {checked} 处，违反 {broken} 处，另有 {explained} 处由事件引起",
    "explained": "（由事件引起）",
    "message": " 消息 {number}",
    "message-of": " {producer} 的消息 {number}",
}
"""Sentences by name."""
