"""MQ1, brokers: the words of `mqctl.diagnosis.mq1_brokers` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_BROKER = "mqctl broker stats {source} {broker}"

RULES: dict[str, Text] = {
    "MQ110": Text(
        title="A broker's disk is nearly full",
        what={
            "early": "The disk of {broker} is {disk_used_share} full: files are deleted before their time.",
            "forced": "The disk of {broker} is {disk_used_share} full: files are deleted whatever their age.",
            "refused": "The disk of {broker} is {disk_used_share} full: sends are refused.",
        },
        effect="Messages that nobody has consumed yet are deleted, and beyond 90 % nothing can be sent.",
        advice="Add disk or lower fileReservedTime; look for groups whose backlog is about to expire.",
        explain="A broker deletes at its usual hour, from 75 % on at any hour, from 85 % on regardless of age, and answers sends "
        "with 14 from 90 % on.",
        next_command=_BROKER,
    ),
    "MQ111": Text(
        title="A broker's page cache is busy",
        what={"": "An append on {broker} has held the page cache lock for {lock_ms}."},
        effect="From one second on the broker rejects sends with code 2.",
        advice="Look at disk I/O, swapping and memory pressure of that machine.",
        explain="pageCacheLockTimeMills is the age of the append that is under way; a healthy one takes less than a "
        "millisecond.",
        next_command=_BROKER,
    ),
    "MQ112": Text(
        title="Requests wait in a broker",
        what={
            "send": "Sends wait {wait_ms} on {broker}, {waiting_count} of them.",
            "pull": "Pulls wait {wait_ms} on {broker}, {waiting_count} of them.",
            "query": "Queries wait {wait_ms} on {broker}, {waiting_count} of them.",
        },
        effect="A request that waits too long is refused with code 2 (SYSTEM_BUSY), which producers do not retry.",
        advice="Find out what slows the broker down (disk, flush mode, garbage collection), or spread the load over "
        "more brokers.",
        explain="Looks at the wait of the oldest request in the queues for sends (limit 200 ms), pulls (5 s) and queries.",
        next_command=_BROKER,
    ),
    "MQ113": Text(
        title="Consume queues lag behind the commit log",
        what={"": "The consume queues of {broker} are {behind_bytes} behind its commit log."},
        effect="Those messages are stored, but consumers cannot see them yet.",
        advice="Check the disk that holds the consume queues. After a restart, wait until dispatching has caught up.",
        explain="dispatchBehindBytes is how far dispatching is behind the end of the commit log.",
        next_command=_BROKER,
    ),
    "MQ114": Text(
        title="Appends are slow",
        what={"": "One append in a hundred on {broker} takes {append_ms} or more."},
        effect="Producers wait that long; their send timeout is 3 s by default.",
        advice="Check disk latency and the flush mode.",
        explain="Reads putLatency99, which 5.x brokers report; the limit is 50 ms.",
        next_command=_BROKER,
    ),
    "MQ115": Text(
        title="Off-heap buffers are used up",
        what={"": "The transient store pool of {broker} has {buffer_count:buffer} left."},
        effect="Sends are rejected until buffers are free again.",
        advice="Raise transientStorePoolSize, or find out why committing is slow.",
        explain="With transientStorePoolEnable messages go to a pool of buffers first; an empty pool makes the broker answer "
        "code 2.",
        next_command=_BROKER,
    ),
    "MQ119": Text(
        title="Records of a broker's own topic were set aside",
        what={
            "": "Since {broker} started, {record_count:record} of {topic} could not be handled, and {record_count:/was/were} "
            "passed over."
        },
        effect="The delayed messages, timers or transactions behind these records are not delivered or checked.",
        advice="The broker's log names each record and why. Read it with `mqctl store cat --physical-offset`, fix the client that "
        "sends such messages, and send again what is needed.",
        explain="A record that the timers, the delay levels or the transaction check cannot read would otherwise "
        "block everything behind it. The broker skips it, counts it (recordsSetAside_TOPIC in its runtime "
        "information) and continues.",
        next_command=_BROKER,
    ),
}
