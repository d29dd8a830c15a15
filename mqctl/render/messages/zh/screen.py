"""Words of the screen of `top` in Chinese."""

from __future__ import annotations

PHRASES = {
    "page_brokers": "Broker",
    "page_topics": "Topic",
    "page_groups": "消费组",
    "page_queues": "队列",
    "page_members": "成员",
    "page_member": "成员详情",
    "page_stacks": "线程栈",
    "page_messages": "消息",
    "page_message": "消息详情",
    "page_findings": "诊断",
    "page_finding": "诊断详情",
    "page_of": "{subject} 的{page}",
    "screen_keys": "Enter 打开  Esc 返回  / 过滤  s 排序  c 命令  ? 帮助  q 退出",
    "screen_head": "{time}  Broker {brokers}，写入/秒 {coming}，消费/秒 {going}，积压 {lag:,}",
    "screen_head_at_least": "{time}  Broker {brokers}，写入/秒 {coming}，消费/秒 {going}，积压至少 {lag:,}",
    "screen_rows": "共 {total:,} 行，显示 {shown:,} 行",
    "screen_filter": "过滤：{wanted}",
    "screen_asking": "正在查询……",
    "screen_asked": "查询于 {time}",
    "screen_paused": "已暂停",
    "screen_past": "近 5 分钟",
    "screen_failed": "未能刷新：{why}",
    "screen_command": "已复制：{command}",
    "screen_needs_group": "请先选择一个消费组（按 g 列出）",
    "screen_needs_topic": "请先选择一个 Topic（按 t 列出）",
    "screen_help": """此界面只读，不会修改集群。

b  Broker       t  Topic        g  消费组       整个集群
u  队列         m  成员         k  线程栈       所选消费组
e  消息         所选 Topic 或队列的最新消息
f  诊断         所选 Topic 或消费组；F  整个集群

Enter           打开所选行
Esc, Backspace  返回上一页
Up, Down, PgUp, PgDn, Home, End    选择或滚动
Left, Right     显示放不下的列

/  过滤：Enter 保留，Esc 取消
s  按下一列排序；S  反转顺序
r  立即刷新；p  暂停或继续
c  复制并显示内容相同的命令行
q  退出

柱形：前一列近五分钟的变化，仅限本界面已采集的数据。""",
}
