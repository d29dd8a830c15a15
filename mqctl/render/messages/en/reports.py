"""What stands out in reports over store directories, in English."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "nothing": "nothing stands out",
    "group": "{group} on {topic}",
    "backlog.behind": "{where}: {messages} messages ({size}) are behind, the oldest stored at {oldest}{most}.",
    "backlog.most": "; most arrived from {begin} on ({messages} within {width})",
    "backlog.lost": "{where}: {messages} messages expired before they were consumed.",
    "backlog.dangling": "{where}: {entries} queue entries point to no message.",
    "unread": "{store}: {part} is not read, {reason}; what it holds is missing here{messages}.",
    "unread.messages": " (its commit log has {messages} messages)",
    "unread.lost": "{store}: {messages} entries of {part} point to no readable record; those messages are missing here.",
    "skew.hot": "{topic}: queue {queue} has {share} of all messages, {ratio} times the mean of its {queues} queues.",
    "skew.key": "{topic}: the cause is key {key}: {messages} messages, {share} of that queue. More queues or "
    "consumers do not help; a finer key does.",
    "skew.reshard": "{topic}: with {queues} queues by {selector} of {key}, {share} of the keyed messages would stand in another queue than now (drain them before the change, or their order breaks); max/mean {now} would become {then}.",
    "own": "Left out: {messages} messages that mqctl itself sent (resent dead letters, replays, probes); nothing is concluded from them.",
    "order.moved": "{topic}: {moved} of {keys} keys are in several queues; they moved {moves} times between {first} and "
    "{last}. Their messages may have been consumed out of order.",
    "order.change": "{topic}: a change from {before} to {after} queues{back} explains {explained} of the {moves} moves (hash of the key modulo the number of queues).",
    "order.back": " and back",
    "order.inverted": "{topic}: {messages} messages were stored behind one of the same key and host that was sent after them: sends of one key overlap, or the producer's clock went back.",
    "duplicates.again": "{topic}: {copies} messages were stored again under the same unique key ({repeated} of {keys} keys), "
    "between {first} and {last}, typically {gap} or more apart: producers resent messages that had "
    "arrived.",
    "tags.lost": "{group} on {topic}: {lost} of {messages} messages with tag {tag} ({share}) reach nobody, because "
    "members subscribe to different tags ({queues}). Give all members one subscription.",
    "capacity.rate": "{store}: {size} a day, {mean} messages a second on average and {peak} at its peak.",
    "capacity.full": "{store}: the disk is {share} full {when} at this rate: {effect}.",
    "capacity.in": "in {hours} hours",
    "capacity.already": "already",
    "capacity.75": "brokers delete before retention is over",
    "capacity.90": "brokers refuse messages",
    "retries.failed": "{group}: {messages} messages failed and were sent back {retries} times, up to attempt {most}; {waiting} wait in the retry topic.",
    "retries.delayed": "{group}: {messages} failed messages wait on delay levels; they come back to the retry topic from {first} to {last}.",
    "retries.dead": "{group}: {dead} messages are dead letters: nobody consumes them.",
    "delay.level": "level {level}{delay}",
    "delay.overdue": "{name}: {messages} messages are overdue, the oldest since {first} ({late}).",
    "delay.beyond": "{name}: delayOffset.json says {offset}, beyond the queue ({low} to {high}).",
    "delay.below": "{name}: delayOffset.json says {offset}, below the queue ({low} to {high}).",
    "delay.passed_over": "{name}: messages before the recorded offset {offset} that were never delivered: {messages}.",
    "delay.missing": "{name}: {entries} entries point to no message.",
    "delay.timers": "timers for {topic}",
    "delay.gone": "timers: the records of {messages} messages are gone.",
    "transactions.pending": "{group} for {topic}: {pending} of {transactions} transactions wait for an end, the oldest since {oldest}: producers of this group must answer the broker's checks.",
    "transactions.back": "{group} for {topic}: {rolled_back} of {ended} ended transactions ({share}) were rolled back.",
}
