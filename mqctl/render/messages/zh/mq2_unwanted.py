"""MQ216, tags that nobody wants: the words of `mqctl.diagnosis.mq2_unwanted` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ216": Text(
        title="消息的 Tag 没有任何消费组订阅",
        what={
            "": "Topic {topic} 抽样 {sampled_count} 条消息，其中 {unwanted_count} 条的 {tag_count} 种 Tag（{tags}；- 表示没有 Tag）没有任何在线消费组（{groups}）订阅。",
            "offline": "Topic {topic} 抽样 {sampled_count} 条消息，其中 {unwanted_count} 条的 {tag_count} 种 Tag（{tags}；- 表示没有 Tag）没有任何在线消费组（{groups}）订阅；{offline} 没有成员在线，会订阅什么未知。",
        },
        effect="这些消息被存储，却不会投递给任何人，也看不出积压：位点会越过被过滤的消息。",
        advice="生产者写错或改名的 Tag，与暂时没有人需要的 Tag，看起来是一样的：请与生产者实际发送的 Tag 对照。离线的广播消费组在这里没有痕迹。",
        explain="在线时，对所有消费组都按 Tag 过滤的 Topic（最多 32 个），抽样每个队列最新的 400 条消息。只要有消费组订阅 * 或使用 SQL92，就不判断该 Topic：它可能需要全部消息。mqctl report tags --store 会统计存储目录中的全部消息。",
    ),
}
