"""MQ7, delay: the words of `mqctl.diagnosis.mq7_delay` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_CHECK = "mqctl delay check {source}"

RULES: dict[str, Text] = {
    "MQ701": Text(
        title="Delay offset beyond its queue",
        what={
            "": "Level {level} has recorded offset {recorded_offset}, {beyond_count} beyond the end of its queue ({max_offset})."
        },
        effect="Brokers up to 4.9.1 never deliver the next {beyond_count:message} of the level; 4.9.2 and later "
        "correct it at start. In either case the end of the store was lost.",
        advice="Find out what was lost (a cut commit log, a promoted slave) before repairing the file.",
        explain="delayOffset.json holds the next offset to deliver for each level; it cannot lie beyond the schedule queue "
        "unless the queue was cut.",
        next_command=_CHECK,
    ),
    "MQ702": Text(
        title="Delay offset below its queue",
        what={"": "Level {level} has recorded offset {recorded_offset}, below the minimum {min_offset} of its queue."},
        effect="{lost_count:delayed message} expired without being delivered.",
        advice="Send them again from their source; keep delays well below the retention.",
        explain="Entries below the minimum lie in commit log files that retention deleted.",
        next_command=_CHECK,
    ),
    "MQ703": Text(
        title="Delay level without a recorded offset",
        what={"": "Level {level} has no recorded offset although {delivered_count} of its messages were delivered."},
        effect="The next start delivers all {again_count:message} of the level again.",
        advice="Add the level with offset {max_offset} (or the first message not yet delivered) to delayOffset.json and its "
        ".bak while the broker is stopped.",
        explain="A missing level starts at 0. A level that has not delivered anything yet has no entry by rights, so the "
        "rule asks for delivered copies.",
        next_command=_CHECK,
    ),
    "MQ704": Text(
        title="delayOffset.json is lost",
        what={"": "delayOffset.json cannot be used ({problem}), and neither can its backup."},
        effect="The next start delivers {again_count:stored delayed message} again, of which {due_count:was/were} due "
        "before.",
        advice="Restore the file from a slave or a copy while the broker is stopped, or rebuild it from the queues.",
        explain="Without either file the broker starts every level at 0 and does not report it.",
        next_command=_CHECK,
    ),
    "MQ705": Text(
        title="Delay level that the table does not have",
        what={
            "waiting": "{waiting_count:message waits/wait} on level {level}; the table ends at level {max_level}.",
            "empty": "delayOffset.json knows level {level}; the table ends at level {max_level}.",
            "key": "delayOffset.json has the key {key}, which is not a delay level.",
        },
        effect="Nothing delivers the messages of a level beyond the table.",
        advice="Put the level back into messageDelayLevel, or send its messages again. Give --levels if the "
        "broker's table is not the default.",
        explain="Levels are positions in messageDelayLevel; shortening the list strands what waits on the removed ones.",
        next_command=_CHECK,
    ),
    "MQ706": Text(
        title="delayOffset.json is older than the last deliveries",
        what={
            "": "{again_count:message} of level {level} behind the recorded offset {recorded_offset} {again_count:/was/were} delivered already."
        },
        effect="The next start delivers them again.",
        advice="Set the level to {first_undelivered_offset} in delayOffset.json and its .bak while the broker is stopped, or "
        "rely on idempotent consumers.",
        explain="The file is written every 10 s; a kill loses what was delivered since. Delivered copies are found by unique "
        "key in the target topic.",
        next_command=_CHECK,
    ),
    "MQ707": Text(
        title="Delayed messages are overdue",
        what={"": "{overdue_count:message} of level {level} {overdue_count:/is/are} overdue, the oldest by {late_ms}."},
        effect="Delayed messages and retries of this level come that late, or not at all.",
        advice="Check whether the broker was down at that time, cannot write, or is blocked by its first message.",
        explain="The schedule queue has the due times; a message is overdue when it was due more than 2 s before the "
        "look and has no delivered copy.",
        next_command=_CHECK,
    ),
    "MQ708": Text(
        title="A delay level is blocked by its first message",
        what={
            "no-real-topic": "The next message of level {level} does not name its topic.",
            "no-real-queue-id": "The next message of level {level} does not name its queue.",
            "bad-real-queue-id": "The next message of level {level} names a queue that is not a number.",
            "bad-topic-length": "The next message of level {level} names a topic longer than allowed.",
        },
        effect="From 4.9.3 on the broker retries it every 100 ms forever; {blocked_count:message} of the level wait "
        "behind it.",
        advice="Move the level's offset past it while the broker is stopped, and send that message by hand.",
        explain="Each level is strictly first in, first out. Older brokers drop such a message.",
        next_command="mqctl store cat {source} --physical-offset {head_physical_offset}",
    ),
    "MQ728": Text(
        title="Dead letters wait in a delay level",
        what={"": "Messages for {topics} wait in delay level {level} ({delay_ms}): the last try kept its delay."},
        effect="The dead letters appear only when the level is due, up to two hours late; until then they are in neither topic.",
        advice="Wait for the level, or upgrade brokers: newer ones clear the delay of a message that is given up.",
        explain="Reads the target topics of some waiting messages of each level. Nothing but a send-back that failed for the "
        "last time puts a dead-letter topic there.",
        next_command="mqctl delay backlog {source}",
    ),
    "MQ709": Text(
        title="Delayed messages without a record",
        what={
            "": "{lost_count:waiting entry} of level {level} {lost_count:/points/point} to no record, the first at offset {first_offset}."
        },
        effect="The broker skips them silently: these messages are lost.",
        advice="Send them again from their source; find out what cut the commit log.",
        explain="Every entry of a schedule queue must point to a record in the commit log.",
        next_command="mqctl store verify {source}",
    ),
    "MQ710": Text(
        title="The delay level table was changed",
        what={
            "early": "{message_count:waiting message} of level {level} {message_count:/was/were} delayed by "
            "{indexed_delay_ms}; the table now says {configured_delay_ms}.",
            "late": "{message_count:waiting message} of level {level} {message_count:/was/were} delayed by "
            "{indexed_delay_ms}; the table now says {configured_delay_ms}.",
        },
        effect="With a shorter delay configured, waiting messages come out at once; with a longer one they keep the old delay.",
        advice="If the broker's table is not the default, give it with --levels; otherwise find out who changed "
        "messageDelayLevel.",
        explain="The due time is fixed when an entry is written: store time plus the delay in the table at that "
        "moment.",
        next_command=_CHECK,
    ),
    "MQ711": Text(
        title="A schedule queue was rebuilt after a table change",
        what={
            "": "Older entries of level {level} have the configured delay {configured_delay_ms}, newer ones another."
        },
        effect="Messages from before the change are delivered at other times than promised.",
        advice="Compare messageDelayLevel with the producers' expectations; a rebuild recomputes due times.",
        explain="When consume queues are deleted, recovery rebuilds them with the table of that moment.",
        next_command=_CHECK,
    ),
    "MQ712": Text(
        title="A delay reaches the retention",
        what={"": "Level {level} waits {configured_delay_ms}; files are kept for {retention_ms}."},
        effect="Messages of this level are deleted before they are due.",
        advice="Raise fileReservedTime well above the longest delay, or shorten the level.",
        explain="The record stays in the commit log while it waits, and retention deletes it whether or not it was "
        "delivered.",
        next_command=_CHECK,
    ),
    "MQ713": Text(
        title="Due times jump",
        what={
            "": "{descending_count:entry} of level {level} {descending_count:/is/are} due before the one in front, {beyond_horizon_count} further "
            "ahead than the delay allows."
        },
        effect="The broker's clock was set back: messages come early or in bursts.",
        advice="Run NTP with slewing on the broker.",
        explain="Within one level all delays are equal and store times rise, so due times must rise too.",
        next_command=_CHECK,
    ),
    "MQ714": Text(
        title="Delayed messages are overdue because the disk is full",
        what={"": "{overdue_count:delayed message is/are} overdue and the disk is {disk_used_share} full."},
        effect="A broker above 90 % refuses writes, deliveries among them: every level stands still.",
        advice="Free disk space; deliveries continue by themselves. For a copied store this is the copy's disk, not "
        "the broker's.",
        explain="A delivery is a write to the target topic.",
        next_command="mqctl store describe {source}",
    ),
    "MQ716": Text(
        title="Timer messages are read late",
        what={
            "": "The timer of {broker} is {behind_ms} behind its clock; {waiting_count:message waits/wait} to enter its wheel."
        },
        effect="Timer messages are delivered that late.",
        advice="Look at the broker's disk and at how many messages are due in the same second.",
        explain="timerReadBehind of 5.x: the second that the timer reads from its wheel, against the clock. More than ten is late.",
        next_command="mqctl broker stats {source} {broker}",
    ),
    "MQ717": Text(
        title="Delayed messages were skipped",
        what={
            "": "{lost_count:message} on level {level}, from offset {first_offset} on, {lost_count:/was/were} never "
            "delivered, yet the recorded offset is already {recorded_offset}.",
            "partly": "At least {lost_count:message} on level {level}, from offset {first_offset} on, {lost_count:/was/were} never "
            "delivered, yet the recorded offset is already {recorded_offset}. {unseen_count:older message is/are} not looked at.",
        },
        effect="They are lost: the broker continues from the recorded offset.",
        advice="Stop the broker and take the level back to {first_offset} with mqctl delay repair on its store: messages after it "
        "that were delivered come a second time, and the plan counts them.",
        explain="Every message before the recorded offset must have a copy with its unique key in the queue it is for. "
        "Messages without a unique key, or whose topic was deleted, cannot be compared. The newest 8,192 before the offset are looked at, and "
        "those before them as long as some were passed over. A live broker is not asked about it.",
        next_command=_CHECK,
    ),
}
