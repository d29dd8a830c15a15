"""MQ221, flapping: the words of `mqctl.diagnosis.mq2_flapping` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ221": Text(
        title="Members that come and go all day",
        what={
            "": "{host_count:machine} of group {group} left and came back {return_count:time} within a day, last at {last_time_ms} ({hosts}).",
            "over": "{host_count:machine} of group {group} left and came back {return_count:time} between {first_time_ms} and {last_time_ms} ({hosts}); it has been quiet since.",
        },
        effect="Each time the group rebalances: consumption pauses, and messages in flight are delivered again.",
        advice="Look at what restarts or cuts off these machines: crash loops and probes that kill the process, memory limits, pauses of the JVM, the network.",
        explain="Counts, over the last day of a recording, how often a machine had no member of the group at one look and had one at a later look. A deployment takes each machine away once; four returns are more than three deployments. A stretch that was not recorded counts as no return.",
        next_command="mqctl group members {source} -g {group}",
    ),
}
