"""MQ430 to MQ432, weeks: the words of `mqctl.diagnosis.mq4_weeks` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ430": Text(
        title="Lag that leaks towards the retention time",
        what={
            "": "Group {group} was further behind on {topic} on each of the last {day_count} days: in the best hour of the day the age of its next message went from {first_wait_ms} to {last_wait_ms}."
        },
        effect="If it goes on like this, the next message is {retention_ms} old and deleted unread around {meets_expected_time_ms} (between {earliest_expected_time_ms} and {latest_expected_time_ms} by its fastest and its slowest day).",
        advice="Make the group faster than its topic before then: more instances or threads, a quicker listener, or less to consume. `mqctl group lag --advise` says what bounds it. A longer fileReservedTime buys time where the disk has room.",
        explain="Takes the age of the next message to consume in the best hour of each of the last 3 to 14 days of a recording. A group that catches up every night is not leaking. The forecast is a straight line by the median of the daily steps, up to two weeks ahead; a disk that fills up deletes earlier.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ431": Text(
        title="A group that consumes half as much each week",
        what={
            "": "Group {group} consumed {first_week_count}, then {second_week_count}, then {last_week_count:message} of {topic} a week, while {sent_count:message was/were} sent in the last of them."
        },
        effect="It falls behind by what it no longer consumes: {lag_count:message waits/wait} now.",
        advice="Compare releases and settings of its consumers with those of three weeks ago; look for a listener that slows down as data grows (a query without an index), for lost instances, and for threads that hang (`mqctl stacks`).",
        explain="Compares three weeks of a recording: what was committed fell to at most 60 % from week to week, and what was sent did not fall below 80 %. Where producers send less each week as well, a group consumes less and is well.",
        next_command="mqctl group lag {source} -g {group} --advise",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
    "MQ432": Text(
        title="A group that nobody has used for a month",
        what={
            "": "Nobody has used group {group} for {unused_ms}: it had no member, and its offsets (of {topic_count:topic}) did not move."
        },
        effect="It takes room in the brokers' tables and its lag raises alarms. If somebody starts it again, it begins at offsets that may be long gone.",
        advice="Ask its owner; delete it if nobody needs it (`mqctl group delete`). A job that runs once a quarter looks the same.",
        explain="Looks at 30 days of a recording, of which at most a tenth may be missing: the group was there at their begin, had no member at any look since, and none of its offsets moved.",
        next_command="mqctl group describe {source} -g {group}",
    ),
}
