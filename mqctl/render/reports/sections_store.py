"""The sections of the reports on tags, room, retries, delay levels and transactions."""

from __future__ import annotations

from mqctl.render.document import Column, Kind
from mqctl.render.section import READ, UNREAD, Section

_TOPIC = Column("topic", "topic")
_STORE = Column("store", "store")
_BROKER = Column("broker", "broker", none="?")
_GROUP = Column("group", "group")
_PRODUCERS = Column("producer_group", "producer group")
_TAG = Column("tag", "tag", none="(none)")
_MESSAGES = Column("messages", "messages", Kind.COUNT)
_BYTES = Column("bytes", "bytes", Kind.BYTES)
_SHARE = Column("share", "share", Kind.SHARE)
_TIME = Column("time_ms", "from", Kind.TIME_MS)
_DEAD = Column("dead", "dead", Kind.COUNT)
_RETRIES = Column("retries", "retries", Kind.COUNT)

SECTIONS: dict[str, tuple[Section, ...]] = {
    "tags": (
        Section("topics", "Tags of each topic", (_TOPIC, _TAG, _MESSAGES, _BYTES, _SHARE)),
        Section(
            "lost",
            "Lost to members that want different tags",
            (
                _GROUP,
                _TOPIC,
                _TAG,
                _MESSAGES,
                Column("lost_messages", "lost", Kind.COUNT),
                Column("lost_share", "share", Kind.SHARE),
                Column("queues", "where"),
            ),
        ),
        Section(
            "queues",
            "Tags of each queue",
            (
                _TOPIC,
                _BROKER,
                Column("queue_id", "queue", Kind.COUNT),
                _TAG,
                _MESSAGES,
                _BYTES,
                _SHARE,
                Column("store", "store", wide=True),
            ),
        ),
        READ,
    ),
    "capacity": (
        Section(
            "stores",
            "Stores",
            (
                _STORE,
                _BROKER,
                _MESSAGES,
                _BYTES,
                Column("messages_per_second", "messages/s", Kind.RATIO),
                Column("peak_messages_per_second", "peak", Kind.RATIO),
                Column("peak_at_ms", "peak at", Kind.TIME_MS),
                Column("bytes_per_day", "bytes a day", Kind.BYTES),
                Column("kept_hours", "hours kept", Kind.RATIO),
                Column("free_bytes", "free on disk", Kind.BYTES),
                Column("hours_to_75", "hours to 75 %", Kind.RATIO),
                Column("hours_to_90", "to 90 %", Kind.RATIO),
                Column("disk_bytes", "disk", Kind.BYTES, wide=True),
                Column("log_bytes", "log", Kind.BYTES, wide=True),
                Column("bytes_per_second", "bytes/s", Kind.RATIO, wide=True),
                Column("peak_bytes_per_second", "peak bytes/s", Kind.RATIO, wide=True),
                Column("first_ms", "first", Kind.TIME_MS, wide=True),
                Column("last_ms", "last", Kind.TIME_MS, wide=True),
            ),
        ),
        Section("topics", "Topics", (_TOPIC, _MESSAGES, _BYTES, _SHARE, Column("bytes_share", "of bytes", Kind.SHARE))),
        Section("buckets", "Over time", (_STORE, _TIME, _MESSAGES, _BYTES)),
        READ,
    ),
    "retries": (
        Section(
            "groups",
            "Groups",
            (
                _GROUP,
                _RETRIES,
                Column("first_retries", "messages that failed", Kind.COUNT),
                _DEAD,
                Column("most_attempts", "most attempts", Kind.COUNT),
                Column("waiting", "waiting", Kind.COUNT, none="?"),
                Column("delayed", "on delay levels", Kind.COUNT, none="?"),
                Column("first_due_ms", "next back", Kind.TIME_MS),
                Column("last_due_ms", "last back", Kind.TIME_MS, wide=True),
                Column("first_ms", "first", Kind.TIME_MS),
                Column("last_ms", "last", Kind.TIME_MS),
            ),
        ),
        Section(
            "attempts",
            "How far messages came",
            (
                _GROUP,
                Column("attempt", "attempt", Kind.COUNT),
                Column("retried", "sent back for it", Kind.COUNT),
                Column("delayed", "on delay levels", Kind.COUNT),
                _DEAD,
                Column("ended", "consumed or waiting after it", Kind.COUNT),
            ),
        ),
        Section(
            "delayed",
            "On their way back",
            (
                _GROUP,
                Column("attempt", "for attempt", Kind.COUNT),
                Column("level", "delay level", Kind.COUNT),
                _MESSAGES,
                Column("first_due_ms", "first due", Kind.TIME_MS),
                Column("last_due_ms", "last due", Kind.TIME_MS),
            ),
        ),
        Section("errors", "What they say", (_GROUP, Column("value", "value"), _MESSAGES)),
        Section("flow", "Over time", (_GROUP, _TIME, _RETRIES, _DEAD)),
        READ,
        UNREAD,
    ),
    "delay": (
        Section(
            "levels",
            "Delay levels",
            (
                _BROKER,
                Column("level", "level", Kind.COUNT),
                Column("delay_ms", "delay", Kind.DURATION_MS, none="not in the table"),
                Column("waiting", "waiting", Kind.COUNT),
                Column("overdue", "overdue", Kind.COUNT),
                Column("first_overdue_ms", "since", Kind.TIME_MS),
                Column("not_due", "not due yet", Kind.COUNT),
                Column("missing", "lead nowhere", Kind.COUNT),
                Column("next_offset", "next offset", Kind.COUNT, none="none"),
                Column("min_offset", "queue from", Kind.COUNT),
                Column("max_offset", "until", Kind.COUNT),
                Column("offset_state", "offset is"),
                Column("head_due_ms", "head due", Kind.TIME_MS, wide=True),
                Column("last_due_ms", "last due", Kind.TIME_MS, wide=True),
                Column("store", "store", wide=True),
            ),
        ),
        Section(
            "timers",
            "Timers (5.x)",
            (
                _BROKER,
                _TOPIC,
                Column("waiting", "waiting", Kind.COUNT),
                Column("overdue", "overdue", Kind.COUNT),
                Column("first_overdue_ms", "since", Kind.TIME_MS),
                Column("not_due", "not due yet", Kind.COUNT),
                Column("missing", "without record", Kind.COUNT),
                Column("head_due_ms", "first due", Kind.TIME_MS),
                Column("last_due_ms", "last due", Kind.TIME_MS),
                Column("store", "store", wide=True),
            ),
        ),
        Section(
            "due",
            "Due over time",
            (
                _BROKER,
                Column("level", "level", Kind.COUNT),
                _TOPIC,
                _TIME,
                Column("waiting", "due", Kind.COUNT),
                _STORE,
            ),
        ),
        UNREAD,
    ),
    "transactions": (
        Section(
            "groups",
            "Producer groups",
            (
                _PRODUCERS,
                _TOPIC,
                Column("transactions", "transactions", Kind.COUNT),
                Column("committed", "committed", Kind.COUNT),
                Column("rolled_back", "rolled back", Kind.COUNT),
                Column("unknown", "ended otherwise", Kind.COUNT, wide=True),
                Column("pending", "pending", Kind.COUNT),
                Column("oldest_pending_ms", "oldest pending", Kind.TIME_MS),
                Column("mean_resolution_ms", "mean to end, ms", Kind.RATIO),
                Column("mean_commit_ms", "mean to commit, ms", Kind.RATIO, wide=True),
                Column("mean_rollback_ms", "mean to rollback, ms", Kind.RATIO, wide=True),
                Column("longest_ms", "longest", Kind.DURATION_MS),
            ),
        ),
        Section(
            "times",
            "Time to end",
            (
                _PRODUCERS,
                Column("from_ms", "from", Kind.DURATION_MS),
                Column("ended", "ended", Kind.COUNT),
                Column("committed", "committed", Kind.COUNT),
                Column("rolled_back", "rolled back", Kind.COUNT),
            ),
        ),
        Section(
            "pending",
            "The oldest that wait",
            (
                _PRODUCERS,
                _TOPIC,
                Column("unique_key", "unique key"),
                _BROKER,
                Column("half_offset", "half offset", Kind.COUNT),
                Column("first_stored_ms", "first stored", Kind.TIME_MS),
                Column("store", "store", wide=True),
            ),
        ),
        UNREAD,
    ),
}
