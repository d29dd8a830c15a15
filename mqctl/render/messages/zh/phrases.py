"""Fixed phrases in Chinese."""

from __future__ import annotations

from mqctl.render.messages.zh.backlog import PHRASES as BACKLOG_PHRASES
from mqctl.render.messages.zh.playbooks import PHRASES as PLAYBOOK_PHRASES
from mqctl.render.messages.zh.reasons import PHRASES as REASON_PHRASES
from mqctl.render.messages.zh.recorded import PHRASES as RECORDED_PHRASES
from mqctl.render.messages.zh.screen import PHRASES as SCREEN_PHRASES
from mqctl.render.messages.zh.timeline import PHRASES as TIMELINE_PHRASES

PHRASES = {
    **BACKLOG_PHRASES,
    **PLAYBOOK_PHRASES,
    **REASON_PHRASES,
    **RECORDED_PHRASES,
    **SCREEN_PHRASES,
    **TIMELINE_PHRASES,
    "source": "{source}，判断时刻 {time}",
    "broker": "{count} 个 Broker：{names}",
    "brokers": "{count} 个 Broker：{names}",
    "summary_of_one": "{verdict}：{rules}，发现 1 个问题，{gaps:,} 项无法判断",
    "summary": "{verdict}：{rules}，发现 {findings:,} 个问题，{gaps:,} 项无法判断",
    "rule_of_one": "1 条规则",
    "rules": "{count} 条规则",
    "alike": "{title}：{count:,} 处，最严重的在前",
    "alike_of": "{title}：{groups:,} 个消费组，{count:,} 处，最严重的在前",
    "alike_more": "另有 {count:,} 处（-o json 显示全部）",
    "cut": "共 {total:,} 行，显示 {shown:,} 行；--limit all 显示全部",
    "how_consumed": "消费方式：{kinds}",
    "online_first": "积压的消费组 {behind:,} 个，共 {waiting:,} 条消息等待消费；其中有在线成员的 {online:,} 个排在前面",
    "offline_folded": "没有成员在线的消费组 {count:,} 个未显示（--sort lag 可显示）",
    "offline_behind": "其中 {behind:,} 个有积压，共 {waiting:,} 条；最近开始积压的是：{last}",
    "offline_since": "{group}（{span}前）",
    "offline_left_out": "没有成员在线的消费组 {count:,} 个未显示；--all 显示全部",
    "empty_retries": "{count:,} 个没有消息的重试 Topic 未显示；--limit all 显示全部",
    "groups_offline": "消费组：{online:,} 个有成员在线，{offline:,} 个没有成员在线",
    "retried_for_ever": "{group}：顺序消费的成员在原地重试失败的消息，次数没有上限；期间该队列停滞，重试 Topic 中看不到（MQ503）。Broker 上的重试上限只对并发消费的成员有效。",
    "retried_in_place": "{group}：顺序消费的成员在原地重试失败的消息，最多 {most:,} 次；期间该队列停滞，重试 Topic 中看不到（MQ503）。Broker 上的重试上限只对并发消费的成员有效。",
    "standing": "{group} 在 {topic} 上积压 {count:,} 条，最早的已等待 {span}",
    "standing_uncommitted": "{group} 在 {topic} 上尚未提交位点的队列：{queues:,}，其中已存储的消息：{count:,}",
    "standing_calm": "没有积压：{groups}",
    "lag_next": "原因与处理：{doctor}；何时追平：{advise}",
    "folded": "{count:,} 个没有积压的重试 Topic 未显示；--limit all 显示全部",
    "window_closes": "{group}：消费失败、等待重试的消息 {failing:,} 条。如果每次重试都失败，第一条将在 {at}（{span}后）进入死信队列："
    "修复须在此之前上线（{retries}）",
    "from_slaves": "{names} 没有主节点，数据取自从节点；主节点最后的消息可能尚未同步",
    "doctor_page_title": "RocketMQ 诊断",
    "doctor_page_cluster": "集群 {names}",
    "doctor_page_groups": "消费组 {names}",
    "do_first": "先做：{what}",
    "verdict_ok": "正常",
    "verdict_warning": "警告",
    "verdict_critical": "严重",
    "verdict_unknown": "未知",
    "effect": "影响",
    "advice": "建议",
    "next": "下一步",
    "confidence": "置信度",
    "playbook": "处理手册",
    "movements": "两次观察之间落后的消费组",
    "no_groups": "没有任何消费组有成员在线：关于成员的规则无可判断。",
    "time_scale": "时间倍率 {scale}：客户端、broker 与规则的一分钟在此为 {minute}。",
    "silenced": "已知并搁置",
    "partly_judged": "只能部分判断",
    "not_judged": "因缺少证据而无法判断",
    "wants_same": "所有成员订阅一致",
    "wants_differ": "成员订阅不一致",
    "wants_untold": "有成员未告知其订阅",
    "wants_offline": "没有成员在线，无从得知订阅",
    "pulls_refused": "{brokers}：{group} 的每次拉取都被拒绝，没有该组的配置，也不会自动创建（autoCreateSubscriptionGroup=false）。"
    "请创建该组（`mqctl group create`），或检查组名。",
    "nobody_online": "{group} 没有成员在线",
    "one_process": "同一进程（成员 {members}）",
    "skipped_counted": "被 Broker 的过滤条件或队列归属成员跳过的消息（统计全部消息）",
    "skipped_sampled": "被 Broker 的过滤条件或队列归属成员跳过的消息（抽样各队列最新消息）",
    "comma": "、",
    "unknown": "未知",
}
