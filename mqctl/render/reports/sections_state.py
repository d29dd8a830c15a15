"""The sections of the reports on tags, room, retries, delay levels and transactions."""

from __future__ import annotations

from mqctl.render.document import CellKind, Column
from mqctl.render.section import NO_NAME, READ, UNREAD, Section

_TOPIC = Column("topic", "topic")
_STORE = Column("store", "store")
_BROKER = Column("broker", "broker", none="?")
_GROUP = Column("group", "group")
_PRODUCERS = Column("producer_group", "producer group")
_TAG = Column("tag", "tag", none=NO_NAME)
_MESSAGES = Column("messages", "messages", CellKind.COUNT)
_BYTES = Column("bytes", "bytes", CellKind.BYTES)
_SHARE = Column("share", "share", CellKind.SHARE)
_TIME = Column("time_ms", "from", CellKind.TIME_MS)
_DEAD = Column("dead", "dead", CellKind.COUNT)
_RETRIES = Column("retries", "retries", CellKind.COUNT)

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
                Column("lost_messages", "lost", CellKind.COUNT),
                Column("lost_share", "share", CellKind.SHARE),
                Column("queues", "where"),
            ),
        ),
        Section(
            "queues",
            "Tags of each queue",
            (
                _TOPIC,
                _BROKER,
                Column("queue_id", "queue", CellKind.COUNT),
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
                Column("messages_per_second", "messages/s", CellKind.RATIO),
                Column("peak_messages_per_second", "peak", CellKind.RATIO),
                Column("peak_at_ms", "peak at", CellKind.TIME_MS),
                Column("bytes_per_day", "bytes a day", CellKind.BYTES),
                Column("kept_hours", "hours kept", CellKind.RATIO),
                Column("free_bytes", "free on disk", CellKind.BYTES),
                Column("hours_to_75", "hours to 75 %", CellKind.RATIO),
                Column("hours_to_90", "to 90 %", CellKind.RATIO),
                Column("disk_bytes", "disk", CellKind.BYTES, wide=True),
                Column("log_bytes", "log", CellKind.BYTES, wide=True),
                Column("bytes_per_second", "bytes/s", CellKind.RATIO, wide=True),
                Column("peak_bytes_per_second", "peak bytes/s", CellKind.RATIO, wide=True),
                Column("first_ms", "first", CellKind.TIME_MS, wide=True),
                Column("last_ms", "last", CellKind.TIME_MS, wide=True),
            ),
        ),
        Section(
            "topics", "Topics", (_TOPIC, _MESSAGES, _BYTES, _SHARE, Column("bytes_share", "of bytes", CellKind.SHARE))
        ),
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
                Column("first_retries", "messages that failed", CellKind.COUNT),
                _DEAD,
                Column("most_attempts", "most attempts", CellKind.COUNT),
                Column("waiting", "waiting", CellKind.COUNT, none="?"),
                Column("delayed", "on delay levels", CellKind.COUNT, none="?"),
                Column("first_due_ms", "next back", CellKind.TIME_MS),
                Column("last_due_ms", "last back", CellKind.TIME_MS, wide=True),
                Column("first_ms", "first", CellKind.TIME_MS),
                Column("last_ms", "last", CellKind.TIME_MS),
            ),
        ),
        Section(
            "attempts",
            "How far messages came",
            (
                _GROUP,
                Column("attempt", "attempt", CellKind.COUNT),
                Column("retried", "sent back for it", CellKind.COUNT),
                Column("delayed", "on delay levels", CellKind.COUNT),
                _DEAD,
                Column("ended", "consumed or waiting after it", CellKind.COUNT),
            ),
        ),
        Section(
            "delayed",
            "On their way back",
            (
                _GROUP,
                Column("attempt", "for attempt", CellKind.COUNT),
                Column("level", "delay level", CellKind.COUNT),
                _MESSAGES,
                Column("first_due_ms", "first due", CellKind.TIME_MS),
                Column("last_due_ms", "last due", CellKind.TIME_MS),
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
                Column("level", "level", CellKind.COUNT),
                Column(
                    "delay_ms",
                    "delay",
                    CellKind.DURATION_MS,
                    none="not in the table",
                ),
                Column("waiting", "waiting", CellKind.COUNT),
                Column("overdue", "overdue", CellKind.COUNT),
                Column("first_overdue_ms", "since", CellKind.TIME_MS),
                Column("not_due", "not due yet", CellKind.COUNT),
                Column("missing", "message deleted", CellKind.COUNT),
                Column("passed_over", "never delivered", CellKind.COUNT),
                Column("next_offset", "next offset", CellKind.COUNT, none="none"),
                Column("min_offset", "queue from", CellKind.COUNT),
                Column("max_offset", "until", CellKind.COUNT),
                Column("offset_state", "offset is"),
                Column("head_due_ms", "head due", CellKind.TIME_MS, wide=True),
                Column("last_due_ms", "last due", CellKind.TIME_MS, wide=True),
                Column("store", "store", wide=True),
            ),
        ),
        Section(
            "timers",
            "Timers (5.x)",
            (
                _BROKER,
                _TOPIC,
                Column("waiting", "waiting", CellKind.COUNT),
                Column("overdue", "overdue", CellKind.COUNT),
                Column("first_overdue_ms", "since", CellKind.TIME_MS),
                Column("not_due", "not due yet", CellKind.COUNT),
                Column("missing", "without record", CellKind.COUNT),
                Column("head_due_ms", "first due", CellKind.TIME_MS),
                Column("last_due_ms", "last due", CellKind.TIME_MS),
                Column("store", "store", wide=True),
            ),
        ),
        Section(
            "due",
            "Due over time",
            (
                _BROKER,
                Column("level", "level", CellKind.COUNT),
                _TOPIC,
                _TIME,
                Column("waiting", "due", CellKind.COUNT),
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
                Column("transactions", "transactions", CellKind.COUNT),
                Column("committed", "committed", CellKind.COUNT),
                Column("rolled_back", "rolled back", CellKind.COUNT),
                Column("unknown", "ended otherwise", CellKind.COUNT, wide=True),
                Column("pending", "pending", CellKind.COUNT),
                Column("oldest_pending_ms", "oldest pending", CellKind.TIME_MS),
                Column("mean_resolution_ms", "mean to end, ms", CellKind.RATIO),
                Column("mean_commit_ms", "mean to commit, ms", CellKind.RATIO, wide=True),
                Column("mean_rollback_ms", "mean to rollback, ms", CellKind.RATIO, wide=True),
                Column("longest_ms", "longest", CellKind.DURATION_MS),
            ),
        ),
        Section(
            "times",
            "Time to end",
            (
                _PRODUCERS,
                Column("from_ms", "from", CellKind.DURATION_MS),
                Column("ended", "ended", CellKind.COUNT),
                Column("committed", "committed", CellKind.COUNT),
                Column("rolled_back", "rolled back", CellKind.COUNT),
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
                Column("half_offset", "half offset", CellKind.COUNT),
                Column("first_stored_ms", "first stored", CellKind.TIME_MS),
                Column("store", "store", wide=True),
            ),
        ),
        UNREAD,
    ),
}
