"""MQ6, routes: the words of `mqctl.diagnosis.mq6_routes` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ601": Text(
        title="Messages in queues that nobody can read",
        what={
            "": "{topic} has {read_queue_count:read queue}; queues {queues} beyond them hold {message_count:message}.",
            "empty": "{topic} has {read_queue_count:read queue} and {write_queue_count:write queue}. Queues beyond the "
            "read queues are empty so far ({queues}); the next sends go there as well.",
        },
        effect="No consumer can pull what is in these queues; it expires unread.",
        advice="Raise readQueueNums to writeQueueNums until the queues are drained, then shrink in the right order: write "
        "queues first, read queues last.",
        explain="Consumers see queue ids below readQueueNums only; a pull beyond is refused. Shrinking both numbers at once "
        "strands what is in the upper queues.",
        next_command="mqctl store describe {source}",
        live_command="mqctl topic describe {source} -t {topic}",
    ),
    "MQ602": Text(
        title="Read queues that get no messages",
        what={"": "{topic} has {read_queue_count:read queue} and only {write_queue_count:write queue}."},
        effect="The queues in between get nothing; the instances that own them are idle.",
        advice="Normal while a topic shrinks; lower readQueueNums once they are empty.",
        explain="Producers write to queue ids below writeQueueNums, consumers own ids below readQueueNums.",
    ),
    "MQ603": Text(
        title="A topic is closed for reading or writing",
        what={
            "read": "{topic} cannot be read (perm {perm}); it holds {message_count:message}.",
            "write": "{topic} cannot be written (perm {perm}).",
            "both": "{topic} can neither be read nor written (perm {perm}); it holds {message_count:message}.",
        },
        effect="Consumers or producers of the topic get errors or no route.",
        advice="Set perm 6 unless somebody closed the topic on purpose.",
        explain="perm is a sum of 4 (read) and 2 (write); a wiped write permission is held by name servers only and does not "
        "show here.",
    ),
    "MQ604": Text(
        title="Offsets on a topic that has no settings",
        what={
            "": "Groups have offsets on {topic} ({groups}), but the topic has no settings; {message_count} of its messages are stored."
        },
        effect="The topic was deleted with its offsets kept, or its settings were lost. Without settings the broker "
        "refuses its consumers, and a new topic of that name would start with the old offsets.",
        advice="Delete the offsets if the topic is gone; create its settings if it is not.",
        explain="Offsets live in consumerOffset.json, settings in topics.json; deleting a topic keeps the offsets. Stored messages "
        "make it a warning: somebody may still want them.",
        next_command="mqctl store describe {source}",
    ),
}
