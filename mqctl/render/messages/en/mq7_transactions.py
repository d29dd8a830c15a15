"""MQ7, transactions: the words of `mqctl.diagnosis.mq7_transactions` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ720": Text(
        title="Transactions are pending",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) pending, the oldest for {oldest_ms}; most "
            "checks of one so far: {most_checks_count}."
        },
        effect="Their messages are invisible to consumers; after 15 checks they are discarded.",
        advice="Check whether a producer of the group is online and what its transaction listener returns.",
        explain="Half messages from the check loop's position on that no op message names; copies of one transaction count "
        "once. Younger than about a minute they are normal.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
    "MQ721": Text(
        title="Transactions will soon be discarded",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) had up to {most_checks_count:check} "
            "without an answer; the oldest is {oldest_ms} old."
        },
        effect="At 15 checks the broker gives up on them and the business data may be inconsistent.",
        advice="See which producers of the group are online, and make their transaction listener answer commit or rollback "
        "before the last check.",
        explain="Once a round (60 s; 30 s from 5.1.1 on) the broker asks one producer of the group, and counts the "
        "checks.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
    "MQ722": Text(
        title="Transactions were discarded",
        what={
            "": "The broker gave up on {discarded_count:transaction} of producer group {group} ({topics}), the last at "
            "{last_time_ms}."
        },
        effect="Consumers never get these messages, even if the producer committed its own work.",
        advice="Compare with the producer's records and send the missing messages again.",
        explain="After 15 unanswered checks, or beyond the retention, a half message is copied to TRANS_CHECK_MAX_TIME_TOPIC "
        "and forgotten.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
    "MQ723": Text(
        title="Committed transactions without an op message",
        what={
            "": "{transaction_count:committed transaction} of producer group {group} have no op message, the first at half "
            "offset {first_half_offset}."
        },
        effect="The broker checks them again, and a second commit delivers the message a second time.",
        advice="Make consumers idempotent; a crash of a 5.x broker loses up to 3 s of op messages.",
        explain="A commit writes the message first and the op message that closes the half message afterwards.",
    ),
    "MQ724": Text(
        title="Transactions committed more than once",
        what={
            "": "{transaction_count:transaction} of producer group {group} were committed {extra_count:time} too often "
            "(unique key {key}, for instance)."
        },
        effect="Consumers got these messages as often.",
        advice="Make consumers idempotent; look for producers that end a transaction twice.",
        explain="Ending a transaction has no test for an earlier answer: each commit writes another message.",
    ),
    "MQ725": Text(
        title="Nobody answers the checks of pending transactions",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) pending, the oldest for {oldest_ms}; most "
            "checks of one so far: {most_checks_count}, and no producer of the group is connected to this broker."
        },
        effect="The broker's checks reach nobody and count all the same; at 15 it gives up on the transactions.",
        advice="Start a producer of the group with its transaction listener; after that, resume what was discarded.",
        explain="A broker asks only clients that are connected to it as producers of the transaction's own group.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
    "MQ726": Text(
        title="The check loop of transactions stands still",
        what={
            "": "{broker} has {half_count:half message} to check, and its check loop stayed at offset {recorded_offset} for {window_ms}."
        },
        effect="Transactions whose producer went away are neither committed nor rolled back, and nothing is given up.",
        advice="Look for errors of the transaction service in the broker's log: an op queue that was cut or deleted stops it. Restart the broker once that is fixed.",
        explain="Compares the loop's own offset in the half queue at two looks, at least two of its rounds apart. Each round puts waiting messages behind the others, so that it moves even when nobody answers.",
        next_command="mqctl transaction list {source}",
    ),
    "MQ727": Text(
        title="Transactions with a delay",
        what={
            "": "{transaction_count:half message} of producer group {group} {transaction_count:/has/have} a delay level (topics {topics})."
        },
        effect="Half messages are delayed like others: checks come again and again, and after fifteen of them they are discarded.",
        advice="Do not set a delay on transactional messages; send the delayed message when the transaction has ended.",
        explain="Looks at the properties of half messages that wait for their end.",
        next_command="mqctl transaction list {source}",
    ),
}
