"""MQ64x, settings: the words of `mqctl.diagnosis.mq6_settings` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ640": Text(
        title="A setting contradicts something in use",
        what={
            "timers": "{broker} has {setting}, and topic {user} is for timer messages: they are delivered at once.",
            "timers-stopped": "{broker} has {setting}, and topic {user} is for timer messages: its timer stands still.",
            "transactions": "{broker} has {setting}, and transactions are sent to {user}: their half messages are refused.",
            "pulling": "{broker} has {setting}, and the members of group {user} pull by themselves and are refused.",
            "compaction": "{broker} has {setting}, and topic {user} is configured for compaction, which does not run.",
            "sends": "{broker} refuses all sends until {until_time_ms} ({setting}).",
            "cold": "{broker} has {setting}, and group {user} reads messages that left memory long ago: its pulls are held back or refused.",
            "rocksdb": "{broker} has {setting}, and delayed messages are overdue ({user}): its delay service reads its queues slowly.",
            "notice": "{broker} has {setting}: members of group {user} and others learn of changes only after 20 s.",
            "flush": "{broker} has {setting} and waits for no slave: a power cut takes the last messages of topic {user}, too, which is ordered or transactional.",
            "bitmaps": "{broker} has {setting} but {user}: bit maps of SQL92 filters need enableCalcFilterBitMap, enableConsumeQueueExt and enablePropertyFilter together.",
        },
        effect="The feature does not work there as its users expect.",
        advice="Change the setting with `mqctl broker set`, or stop using the feature on this broker. Some settings "
        "are read only at start.",
        explain="Compares switches of the broker with its topics, members, offsets and delay levels. A setting that nothing in use contradicts is not reported.",
        next_command="mqctl broker config {source} {broker}",
    ),
    "MQ641": Text(
        title="Brokers of one cluster are set up differently",
        what={"": "{setting} differs in {cluster}: {sides}."},
        effect="Brokers behave differently: refusals, delays or losses come and go with the queue.",
        advice="Set it to one value on all masters (`mqctl cluster config`), and restart those where it is read at the start only.",
        explain="Compares the masters of a cluster in settings that clients rely on. Differences in where files lie, in ports and names are not reported.",
        next_command="mqctl broker config {source}",
    ),
    "MQ642": Text(
        title="Access keys that nobody checks",
        what={
            "": "{broker} does not check the access keys it was sent: access control is off there.",
            "half": "{broker} checks who a client is but not what it may do (authorizationEnabled=false): any user may "
            "do everything.",
        },
        effect="Whoever reaches the broker may read, write and change what lies there.",
        advice="Set aclEnable=true (4.x), or authenticationEnabled and authorizationEnabled (5.x), in the properties of every broker, and restart it.",
        explain="Reads the switches of access control from the broker's own settings; a broker with access control off takes any key. The rules in its access file are not read.",
        next_command="mqctl broker config {source} {broker}",
    ),
    "MQ643": Text(
        title="A master waits for slaves that are not there",
        what={
            "": "{broker} is a synchronous master that waits for {wanted_count:copy} of each message, and {process_count:process is/are} registered under its name."
        },
        effect="Producers get SLAVE_NOT_AVAILABLE, or that too few replicas are in sync; messages have no second copy.",
        advice="Bring the slave back, or set brokerRole=ASYNC_MASTER if there is to be none.",
        explain="With brokerRole=SYNC_MASTER a send is acknowledged in full only when a slave has it.",
        next_command="mqctl broker list {source}",
    ),
}
