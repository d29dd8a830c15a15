"""MQ4, offsets: the words of `mqctl.diagnosis.mq4_offsets` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ401": Text(
        title="A consumer group is behind",
        what={
            "": "Group {group} is {lag_ms} behind on {topic}: {lag_count:message} waiting.",
            "filtered": "Group {group} is {lag_ms} behind on {topic}: {lag_count:message} in its queues, of which about "
            "{wanted_count:has/have} a tag that it subscribes to ({sampled_count:message} sampled). It skips the "
            "others.",
        },
        effect="Messages are processed that late; the backlog grows until the group consumes faster than messages "
        "arrive.",
        advice="Find out whether consumers are down, slow or stuck before adding instances.",
        explain="The lag time is the age of the next message to consume, which is what users notice; counts alone "
        "mislead. 5 min is a warning, 1 h an error. Why the group is behind is said as far as its members report: who is "
        "online, who owns the queues, how long a call of the listener takes, and whether threads are busy with it.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
    "MQ402": Text(
        title="Messages expired before they were consumed",
        what={
            "": "The offset of group {group} is below the minimum of {topic} in queues {queues}: {lost_count:message "
            "was/were} deleted before the group consumed them."
        },
        effect="This group has lost these messages; its next pull jumps to the minimum.",
        advice="If the group had not consumed them, restore them from the source or a backup; extend retention and raise consumption. If "
        "somebody moved the group back below the minimum (`mqctl offset history`), nothing new is lost.",
        explain="Retention deletes commit log files whether or not they were consumed. How far an offset is below "
        "the queue's minimum is the number of messages deleted unread.",
        next_command="mqctl group lag {source} -g {group} -o wide",
    ),
    "MQ403": Text(
        title="Messages are about to expire unconsumed",
        what={"": "The next message of {group} on {topic} is {lag_ms} old; files are kept for {retention_ms}."},
        effect="Retention deletes up to {lag_count:message} before the group reaches them.",
        advice="Raise fileReservedTime now, then drain the backlog.",
        explain="Compares the age of the next message to consume with the retention (72 h unless the broker's configuration "
        "says otherwise) less a margin of 2 h.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ404": Text(
        title="A consumer offset lies beyond the queue",
        what={
            "": "The offset of group {group} is {beyond_count:message} beyond the end of {topic} in queues {queues} "
            "({consumer_offset}, queue end {max_offset})."
        },
        effect="The queue lost its tail, was emptied or was created again. The next pull moves the offset back to "
        "the end; messages written below the old offset until then may be skipped.",
        advice="Find out why the queue is shorter than it was: a crash that lost the tail (MQ108, the broker's "
        "log), a topic that was deleted and created again, a store from an older copy, or an offset set by "
        "hand. Then reset the group by time.",
        explain="When recovery cuts a queue, consumer offsets stay as they are. A pull beyond the end returns the "
        "end as the new offset.",
        next_command="mqctl group lag {source} -g {group} -o wide",
    ),
    "MQ405": Text(
        title="Retries are waiting",
        what={"": "{lag_count:retry} of group {group} waiting, the oldest for {lag_ms}."},
        effect="The group fails on messages faster than it retries them, or it is gone.",
        advice="Find out why the listener fails.",
        explain="Failed messages come back through %RETRY%GROUP after a growing delay; waiting ones count like any lag.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl retry list {source} -g {group}",
    ),
    "MQ406": Text(
        title="Dead letters",
        what={"": "Group {group} has given up on {dead_letter_count:message}, the last at {newest_time_ms}."},
        effect="These messages are no longer processed; retention deletes them.",
        advice="Read them, fix the cause, and send them again before retention deletes them.",
        explain="A message that failed retryMaxTimes times goes to %DLQ%GROUP and stays there.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl dlq show {source} -g {group}",
    ),
    "MQ407": Text(
        title="Dead letters that cannot be read",
        what={"": "{topic} holds {dead_letter_count:dead letter} but has no read permission (perm {perm})."},
        effect="Consoles and consumers cannot fetch the dead letters.",
        advice="Set perm 6 on the topic.",
        explain="Brokers up to 4.9.1 create dead-letter topics write-only.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl topic update {source} -t {topic} --perm RW",
    ),
    "MQ408": Text(
        title="Consumption is disabled",
        what={
            "": "Group {group} has consumeEnable=false: the broker refuses its pulls.",
            "unused": "Group {group} has consumeEnable=false, no members, and nothing that waits for it.",
        },
        effect="The group consumes nothing from this broker. Messages waiting there: {lag_count}.",
        advice="Enable it unless somebody disabled it on purpose; the broker does it itself to groups that read too slowly "
        "when disableConsumeIfConsumerReadSlowly is on.",
        explain="consumeEnable is a setting of the group on each broker.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group update {source} -g {group} --consume",
    ),
    "MQ409": Text(
        title="The broker corrected offsets",
        what={"": "The broker corrected offsets of {group} on {topic} {jump_count:time}, the last at {last_time_ms}."},
        effect="{skipped_count:message was/were} skipped; where the offset went back, messages were delivered again.",
        advice="Look for expired messages, an emptied queue or a wrong reset at these times.",
        explain="A pull outside the queue is answered with a corrected offset, and a 4.9 broker writes an event to "
        "OFFSET_MOVED_EVENT; 5.3 writes none. The events of test tools are left out.",
        next_command="mqctl store cat {source} -t OFFSET_MOVED_EVENT -q 0",
    ),
    "MQ415": Text(
        title="A group without an offset starts at the end",
        what={
            "": "Group {group} has no offset in {queue_count:queue} of {topic} ({queues}) and starts at the end: it "
            "will not get {skipped_count:stored message}.",
            "old": "A 4.x client of group {group} has no offset in {queue_count:empty queue} of {topic} ({queues}) on a 5.x broker.",
        },
        effect="Messages stored before its first consumer started are never delivered to it.",
        advice="If it needs them, reset it by time now. For 4.x clients on 5.x brokers, give the group its offsets before its first start and before queues are added (the next command), or start consumers before producers.",
        explain="CONSUME_FROM_LAST_OFFSET begins at the end of a queue whose first messages are gone, or no longer in memory. "
        "While the first message is in its memory, a broker answers 0 to those without an offset, and everything is delivered. A 5.x broker answers nothing for an empty queue: a 4.x client then takes its end a moment later, and skips what came in between (seen in one of four first starts).",
        next_command="mqctl offset reset {source} -g {group} -t {topic} --to-earliest",
    ),
}
