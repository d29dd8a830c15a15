"""Backlogs in Chinese: what bounds a group, and what each remedy would and would not do."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ414": Text(
        title="积压永远消化不完，或消化得太晚",
        what={
            "never": "消费组 {group} 每秒处理 {topic} 的 {out_tps} 条消息，而每秒到达 {in_tps} 条：积压的 {lag_count} 条不会减少。瓶颈：{bound_word}。",
            "late": "每秒处理 {out_tps} 条、到达 {in_tps} 条，消费组 {group} 在 {topic} 上的 {lag_count} 条积压需要 {drain_ms}，"
            "而保留期在 {expires_in_ms} 后就会轮到它们。瓶颈：{bound_word}。",
        },
        effect="消费者越落越远，直到文件在被读取之前就被删除。",
        advice="对已积压的消息有帮助的：{remedy_words}。新增队列只接收新消息。",
        explain="两次观察得出队列进出的速率，间隔由 --window 决定。并发消费的实例的各队列共用线程，顺序消费的队列只有一个线程。"
        "窗口短于消费者提交间隔（5 秒）时没有速率。",
    ),
}

PHRASES = {
    "bound_none": "没有，跟得上",
    "bound_nobody": "有队列无人持有",
    "bound_listener": "消费者自己的代码",
    "bound_hot_queue": "单个热点队列",
    "bound_threads": "消费线程数",
    "bound_instances": "实例数",
    "bound_queues": "队列数",
    "bound_pull": "到达实例的消息：线程在等消息",
    "bound_unknown": "未知：有实例未作答，或只看了一次",
    "remedy_instances": "增加实例",
    "remedy_threads": "增加线程",
    "remedy_queues": "增加队列",
    "remedy_brokers": "增加 broker",
    "remedy_downstream": "加快监听器",
    "remedy_nothing": "加什么都没有用，请查看成员及其线程栈",
    "effect_yes": "有效",
    "effect_no": "无效",
    "effect_partly": "部分有效",
    "effect_unknown": "未知",
    "reason_instances_untold": "不清楚瓶颈在哪里",
    "reason_instances_start": "没有实例在线：启动该组的消费者",
    "reason_instances_orphans": "已有实例在线，先查清它们为什么不接管这些队列",
    "reason_instances_hot": "一个队列只有一个所有者，热点队列仍归原主",
    "reason_instances_no_slots": "每个队列都已有自己的所有者，新实例分不到队列",
    "reason_instances_stuck_elsewhere": "队列会换主，但新的所有者可能卡在同一条消息上",
    "reason_instances_lane_each": "每个队列都已有自己的线程，仍然只有一个",
    "reason_instances_slots": "它们会接管队列，前提是监听器调用的下游承受得住",
    "reason_threads_untold": "不清楚瓶颈在哪里",
    "reason_threads_not_held": "积压的队列无人持有",
    "reason_threads_idle": "现有线程在等消息",
    "reason_threads_stuck": "现有线程持有消息却一条也没完成",
    "reason_threads_lanes": "顺序消费时一个线程一次只处理一个队列，而实例持有的队列多于线程",
    "reason_threads_one_lane": "顺序队列一次只有一个线程，线程已经够用",
    "reason_threads_not_busy": "线程并没有忙于监听器：被锁或停顿拖住",
    "reason_threads_more": "把 consumeThreadMin 和 consumeThreadMax 都设为该值，只改最大值不起作用",
    "reason_queues_new_only": "只影响新消息：已积压的留在原队列，而且键会换队列",
    "reason_brokers_new_only_broker": "只影响新消息：已积压的留在原 broker",
    "reason_brokers_reads": "只影响新消息，读取积压仍要访问原 broker",
    "reason_downstream_untold": "不清楚瓶颈在哪里",
    "reason_downstream_elsewhere": "瓶颈不在监听器",
    "reason_downstream_faster": "每条消息耗时减半，速率就翻倍",
    "uncertain": "不确定：两次观察相隔 {window}，短于消费者提交的间隔，或有成员未作答。",
    "never": "永远不会",
    "no_rate": "没有速率：请看两次",
}
