"""MQ120, MQ628, a message of doctor itself: the words of `mqctl.diagnosis.mq1_probe` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ120": Text(
        title="Sends are refused",
        what={
            "refused": "{broker} did not take a message for its own topic {topic}: {reason}.",
            "disk": "{broker} did not take a message for its own topic {topic} although its disk has room: {reason}.",
            "copy": "{broker} took a message without the copy that a slave should have ({status}).",
            "flush": "{broker} took a message and did not flush it in time ({status}).",
            "slow": "{broker} took {took_ms} to store one small message.",
        },
        effect="Producers meet the same: sends fail, are tried again elsewhere, or take long.",
        advice="Read the reason. With room on the disk, a flag stays from when it was full or a queue file could not be written: "
        "restart the broker. Without a copy, look at the slave and its HA port (`mqctl ha status`, `mqctl broker reach`).",
        explain="`--probe` sends one message of a few bytes to the topic that each master keeps under its own name; nobody consumes "
        "it. Settings and figures tell nothing of a broker that refuses sends by itself.",
        next_command="mqctl broker describe {source} {broker}",
    ),
    "MQ628": Text(
        title="The VIP port cannot be reached",
        what={
            "": "{broker} takes messages, and its port listenPort - 2 does not answer from here.",
            "old": "{broker} takes messages, and its port listenPort - 2 does not answer from here; {client_count:client is/clients are} "
            "older than 4.6 and may send through it ({clients}).",
        },
        effect="Clients with vipChannelEnabled=true wait for it until they time out: sendDefaultImpl call timeout.",
        advice="Open listenPort - 2 (10909) where 10911 is open, or set vipChannelEnabled=false in the clients.",
        explain="`--probe` connects to the port from this machine; what a firewall does elsewhere it cannot tell. Brokers do not tell "
        "whether a client uses the VIP port; clients before 4.6 may do so unasked.",
        next_command="mqctl broker describe {source} {broker}",
    ),
}
