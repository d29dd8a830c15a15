"""MQ120, MQ628, a message of doctor itself: the words of `mqctl.diagnosis.mq1_probe` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ120": Text(
        title="Sends are refused",
        what={
            "refused": "{broker} refused a message for its own topic {topic}: {reason}.",
            "disk": "{broker} refused a message for its own topic {topic} although its disk has space: {reason}.",
            "copy": "{broker} stored a message, but no slave has a copy of it ({status}).",
            "flush": "{broker} stored a message, but did not flush it in time ({status}).",
            "slow": "{broker} took {took_ms} to store one small message.",
        },
        effect="Producers see the same: sends fail, are retried on another broker, or are slow.",
        advice="Start with the reason above. If the disk has space, the broker still carries a flag from when it "
        "was full or a queue file could not be written: restart it. If there is no copy, check the slave and "
        "its HA port (`mqctl ha status`, `mqctl broker reach`).",
        explain="`--probe` sends one message of a few bytes to the topic that each master keeps under its own name; "
        "nobody consumes it. A broker that refuses sends may look healthy in all its settings and figures.",
        next_command="mqctl broker describe {source} {broker}",
    ),
    "MQ628": Text(
        title="The VIP port cannot be reached",
        what={
            "": "{broker} accepts messages, but its VIP port (listenPort - 2) does not answer from here.",
            "old": "{broker} accepts messages, but its VIP port (listenPort - 2) does not answer from here; "
            "{client_count:client is/are} older than 4.6 and may send through it ({clients}).",
        },
        effect="Clients with vipChannelEnabled=true wait for it until they time out: sendDefaultImpl call timeout.",
        advice="Open listenPort - 2 (10909) where 10911 is open, or set vipChannelEnabled=false in the clients.",
        explain="`--probe` connects to the port from this machine only; a firewall may treat clients differently. "
        "Brokers do not report whether a client uses the VIP port; clients before 4.6 use it by default.",
        next_command="mqctl broker describe {source} {broker}",
    ),
}
