"""MQ6, routes: the words of `mqctl.diagnosis.mq6_routes` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ601": Text(
        title="消息落在不可读的队列中",
        what={
            "": "{topic} 有 {read_queue_count} 个读队列；超出范围的队列 {queues} 中还有 {message_count} 条消息。",
            "empty": "{topic} 有 {read_queue_count} 个读队列、{write_queue_count} 个写队列。超出读队列范围的队列（{queues}）目前是空的，但之后的消息也会发送到那里。",
        },
        effect="任何消费者都拉不到这些队列中的消息，它们会在未被消费的情况下过期。",
        advice="把 readQueueNums 调大到 writeQueueNums，等队列消费完再按正确顺序缩容：先减写队列，最后减读队列。",
        explain="消费者只能看到编号小于 readQueueNums 的队列，超出的拉取会被拒绝。读写队列数同时缩小，会让高编号队列中的消息滞留。",
    ),
    "MQ602": Text(
        title="没有写入的读队列",
        what={"": "{topic} 有 {read_queue_count} 个读队列，但只有 {write_queue_count} 个写队列。"},
        effect="多出的队列没有消息写入，分到这些队列的实例空闲。",
        advice="缩容过程中属于正常现象；这些队列消费完后再调小 readQueueNums。",
        explain="生产者只写编号小于 writeQueueNums 的队列，消费者分配编号小于 readQueueNums 的队列。",
    ),
    "MQ603": Text(
        title="topic 禁止读或禁止写",
        what={
            "read": "{topic} 不可读（perm {perm}），其中有 {message_count} 条消息。",
            "write": "{topic} 不可写（perm {perm}）。",
            "both": "{topic} 既不可读也不可写（perm {perm}），其中有 {message_count} 条消息。",
        },
        effect="该 topic 的消费者或生产者会报错，或取不到路由。",
        advice="如果不是有意关闭，请把 perm 设为 6。",
        explain="perm 是 4（读）与 2（写）之和；通过 name server 擦除的写权限只存在于 name server 内存中，这里看不到。",
    ),
    "MQ604": Text(
        title="没有配置的 topic 上留有消费位点",
        what={
            "": "消费组（{groups}）在 {topic} 上有消费位点，但该 topic 没有配置；其中仍存有 {message_count} 条消息。"
        },
        effect="topic 已被删除而位点保留，或配置丢失。没有配置时 broker 拒绝其消费者；重新创建的 topic 会沿用旧位点。",
        advice="topic 确已不用则删除这些位点；仍在使用则重新创建其配置。",
        explain="位点保存在 consumerOffset.json，配置保存在 topics.json；删除 topic 不会删除位点。仍存有消息时为警告，可能还有人需要它们。",
    ),
}
