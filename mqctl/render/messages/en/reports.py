"""What stands out in reports over store directories, in English."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "nothing": "nothing stands out",
    "group": "{group} on {topic}",
    "backlog.behind": "{where}: {messages:message} ({size}) behind, the oldest stored at {oldest}{most}.",
    "backlog.most": "; most arrived from {begin} on ({messages} within {width})",
    "backlog.lost": "{where}: {messages:message} expired before being consumed.",
    "backlog.dangling": "{where}: {entries:queue entry points/point} to no message.",
    "unread": "{store}: {part} is not read, {reason}; what it holds is missing here{messages}.",
    "unread.messages": " (its commit log has {messages:message})",
    "unread.lost": "{store}: {messages:entry} of {part} {messages:/points/point} to no readable record, and {messages:/is/are} missing here.",
    "skew.hot": "{topic}: queue {queue} has {share} of all messages, {ratio} times the mean of its {queues:queue}.",
    "skew.key": "{topic}: the cause is key {key}: {messages:message}, {share} of that queue. More queues or "
    "consumers do not help; a finer key does.",
    "skew.reshard": "{topic}: with {queues:queue} by {selector} of {key}, {share} of the keyed messages would go to another queue than now (drain them before the change, or their order breaks); max/mean {now} would become {then}.",
    "own": "Left out: {messages:message} that mqctl itself sent (resent dead letters, replays, probes).",
    "order.moved": "{topic}: {moved} of {keys:key} {moved:/is/are} in several queues, with {moves:move} between {first} and "
    "{last}. Their messages may have been consumed out of order.",
    "order.change": "{topic}: a change from {before} to {after:queue}{back} explains {explained} of {moves:move} (hash of the key modulo the number of queues).",
    "order.back": " and back",
    "order.inverted": "{topic}: {messages:message was/were} stored behind a later one of the same key and host: sends of one key overlap, or the producer's clock went back.",
    "duplicates.again": "{topic}: {copies:message was/were} stored again under the same unique key ({repeated} of {keys:key}), "
    "between {first} and {last}, typically {gap} or more apart: producers resent messages that had "
    "arrived.",
    "tags.lost": "{group} on {topic}: {lost} of {messages:message} with tag {tag} ({share}) {lost:/reaches/reach} nobody, because "
    "members subscribe to different tags ({queues}). Give all members one subscription.",
    "capacity.rate": "{store}: {size} a day, {mean:message} a second on average and {peak} at its peak.",
    "capacity.full": "{store}: the disk {when} {share} full: {effect}.",
    "capacity.in": "will be, in {hours:hour} at this rate,",
    "capacity.already": "is already",
    "capacity.75": "brokers delete before retention is over",
    "capacity.90": "brokers refuse messages",
    "retries.failed": "{group}: {messages:message} failed and {messages:/was/were} sent back {retries:time}, up to attempt {most}; {waiting} in the retry topic now.",
    "retries.delayed": "{group}: {messages:failed message waits/wait} on delay levels, due back in the retry topic from {first} to {last}.",
    "retries.dead": "{group}: {dead:dead letter}, which nobody consumes.",
    "delay.level": "level {level}{delay}",
    "delay.overdue": "{name}: {messages:message is/are} overdue, the oldest since {first} ({late}).",
    "delay.beyond": "{name}: delayOffset.json says {offset}, beyond the queue ({low} to {high}).",
    "delay.below": "{name}: delayOffset.json says {offset}, below the queue ({low} to {high}).",
    "delay.passed_over": "{name}: {messages:message} before the recorded offset {offset} {messages:/was/were} never delivered.",
    "delay.missing": "{name}: {entries:entry points/point} to no message.",
    "delay.timers": "timers for {topic}",
    "delay.gone": "timers: no record is left of {messages:message}.",
    "transactions.pending": "{group} for {topic}: {pending} of {transactions:transaction} {pending:/is/are} pending, the oldest since {oldest}: producers of this group must answer the broker's checks.",
    "transactions.back": "{group} for {topic}: {rolled_back} of {ended:ended transaction} ({share}) {rolled_back:/was/were} rolled back.",
}
