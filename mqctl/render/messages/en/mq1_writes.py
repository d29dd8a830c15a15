"""MQ117, MQ118, writes: the words of `mqctl.diagnosis.mq1_writes` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ117": Text(
        title="Writes are slow",
        what={
            "": "{slow_count} of {write_count:write} on {broker} took 500 ms or more in the last minute, the worst {worst}."
        },
        effect="Producers time out or get SYSTEM_BUSY, and their retries add to the load.",
        advice="Look at the disk, the page cache and pauses of the JVM at that minute. Expired files are deleted at {delete_when} o'clock (deleteWhen), which loads the disk.",
        explain="Reads the distribution of write times that a broker keeps for one minute; in its first minute there "
        "is none.",
        next_command="mqctl broker describe {source} {broker}",
    ),
    "MQ118": Text(
        title="Writes fail",
        what={"": "{failed_count:write} on {broker} failed within {window_ms}."},
        effect="Senders got an error or no answer for these messages.",
        advice="Look at disk space, at the broker's log, and send a message to a topic of your own with `mqctl "
        "message probe`: its answer says what is refused.",
        explain="Compares putMessageFailedTimes of two looks.",
        next_command="mqctl broker describe {source} {broker}",
    ),
}
