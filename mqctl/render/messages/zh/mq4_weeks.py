"""MQ430 to MQ432, weeks: the words of `mqctl.diagnosis.mq4_weeks` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ430": Text(
        title="积压缓慢增长，将触及保留时间",
        what={
            "": "消费组 {group} 在 {topic} 上最近 {day_count} 天一天比一天落后：每天最好的一小时里，下一条待消费消息的年龄从 {first_wait_ms} 增加到 {last_wait_ms}。"
        },
        effect="照此下去，下一条消息将在 {meets_expected_time_ms} 前后达到 {retention_ms}，未消费就被删除（按最快和最慢的一天推算，在 {earliest_expected_time_ms} 与 {latest_expected_time_ms} 之间）。",
        advice="在此之前让消费速度超过发送速度：增加实例或线程、优化监听器、减少需要消费的消息。mqctl group lag --advise 会说明瓶颈。磁盘有余量时，调大 fileReservedTime 可以争取时间。",
        explain="取录制中最近 3 至 14 天里每天最好的一小时的下一条消息年龄。每晚都能追上的消费组不算。预测按每日增量的中位数作直线外推，最远两周；磁盘写满会更早删除。",
    ),
    "MQ431": Text(
        title="消费量每周减半",
        what={
            "": "消费组 {group} 三周来每周消费 {topic} 的消息依次为 {first_week_count}、{second_week_count}、{last_week_count} 条，而最后一周发送了 {sent_count} 条。"
        },
        effect="少消费的部分成为积压：目前有 {lag_count} 条消息在等待。",
        advice="把消费者的版本和配置与三周前对比；查找随数据增长而变慢的监听器（例如没有索引的查询）、丢失的实例、卡住的线程（mqctl stacks）。",
        explain="比较录制中的三周：提交量逐周降到 60% 以下，而发送量没有降到 80% 以下。如果生产者也逐周减少发送，消费组少消费是正常的。",
    ),
    "MQ432": Text(
        title="一个月没有人使用的消费组",
        what={"": "{unused_ms} 以来没有人使用消费组 {group}：没有成员，{topic_count} 个 topic 上的位点也没有移动。"},
        effect="它占用 broker 的表，它的积压会触发告警；重新启动的人会从早已不存在的位点开始。",
        advice="询问负责人；不需要就删除（mqctl group delete）。每季度运行一次的任务看起来也是这样。",
        explain="查看 30 天的录制（缺失不超过十分之一）：期初该组已存在，此后任何一次查看都没有成员，位点也没有移动。",
    ),
}
