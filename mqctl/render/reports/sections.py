"""The sections of each report: which rows, under which title, with which columns."""

from __future__ import annotations

from mqctl.render.document import Column, Kind
from mqctl.render.reports import sections_store as report_sections_store
from mqctl.render.section import READ, UNREAD, Section

_TOPIC = Column("topic", "topic")
_STORE = Column("store", "store", wide=True)
_BROKER = Column("broker", "broker", none="?")
_QUEUE = Column("queue_id", "queue", Kind.COUNT)
_MESSAGES = Column("messages", "messages", Kind.COUNT)
_BYTES = Column("bytes", "bytes", Kind.BYTES)
_SHARE = Column("share", "share", Kind.SHARE)
_KEY = Column("key", "key", none="(none)")
_OLDEST = Column("oldest_ms", "first stored", Kind.TIME_MS)
_NEWEST = Column("newest_ms", "last stored", Kind.TIME_MS)
_BEGIN = Column("begin_ms", "from", Kind.TIME_MS)
_END = Column("end_ms", "until", Kind.TIME_MS)
_BY = Column("by", "by")
_TIME = Column("time_ms", "from", Kind.TIME_MS)
_GROUP = Column("group", "group")
_COPIES = Column("copies", "copies", Kind.COUNT)
_HOST = Column("born_host", "born host")
SECTIONS: dict[str, tuple[Section, ...]] = {
    "backlog": (
        Section(
            "topics",
            "Groups and topics",
            (
                _GROUP,
                _TOPIC,
                _MESSAGES,
                _BYTES,
                Column("oldest_ms", "oldest stored", Kind.TIME_MS),
                Column("newest_ms", "newest stored", Kind.TIME_MS),
                Column("lost_count", "lost", Kind.COUNT),
                Column("dangling_count", "lead nowhere", Kind.COUNT),
                Column("never_committed_count", "never committed", Kind.COUNT),
            ),
        ),
        Section("tags", "By tag", (_GROUP, _TOPIC, Column("tag", "tag", none="(none)"), _MESSAGES, _BYTES)),
        Section("arrivals", "When it arrived", (_GROUP, _TOPIC, _TIME, _MESSAGES, _BYTES)),
        UNREAD,
    ),
    "skew": (
        Section(
            "topics",
            "Topics",
            (
                _TOPIC,
                Column("queues", "queues", Kind.COUNT),
                _MESSAGES,
                _BYTES,
                Column("gini", "gini", Kind.RATIO),
                Column("max_over_mean", "max/mean", Kind.RATIO),
                Column("hot_broker", "hot broker", none="?"),
                Column("hot_queue_id", "hot queue", Kind.COUNT),
                Column("hot_share", "its share", Kind.SHARE),
                Column("hot_key", "hot key"),
                Column("hot_key_share", "its share", Kind.SHARE),
                Column("bytes_gini", "gini of bytes", Kind.RATIO, wide=True),
                Column("bytes_max_over_mean", "max/mean of bytes", Kind.RATIO, wide=True),
                Column("hot_store", "hot store", wide=True),
            ),
        ),
        Section(
            "queues",
            "Queues",
            (_TOPIC, _BROKER, _QUEUE, _MESSAGES, _BYTES, _SHARE, Column("bytes_share", "of bytes", Kind.SHARE), _STORE),
        ),
        Section(
            "keys",
            "Heaviest keys of each queue",
            (
                _TOPIC,
                _BROKER,
                _QUEUE,
                _KEY,
                _MESSAGES,
                _BYTES,
                Column("share", "of queue", Kind.SHARE),
                Column("missed_messages_most", "may be more by", Kind.COUNT, wide=True),
                Column("new_queue", "new queue", Kind.COUNT, wide=True),
                _STORE,
            ),
        ),
        Section("producers", "Born hosts", (_TOPIC, _HOST, _MESSAGES, _BYTES, _SHARE)),
        Section("sizes", "Body sizes", (_TOPIC, Column("from_bytes", "from", Kind.BYTES), _MESSAGES, _BYTES)),
        Section(
            "resharded",
            "The same messages spread otherwise",
            (
                _TOPIC,
                Column("queues_now", "queues now", Kind.COUNT),
                Column("new_queues", "then", Kind.COUNT),
                Column("selector", "selector"),
                Column("moved_share", "would move", Kind.SHARE),
                Column("moved_messages", "messages", Kind.COUNT),
                Column("unkeyed_messages", "without key", Kind.COUNT),
                Column("gini_now", "gini now", Kind.RATIO),
                Column("gini_then", "then", Kind.RATIO),
                Column("max_over_mean_now", "max/mean now", Kind.RATIO),
                Column("max_over_mean_then", "then", Kind.RATIO),
                Column("busiest_queue", "busiest", Kind.COUNT, wide=True),
                Column("busiest_share", "its share", Kind.SHARE, wide=True),
                Column("key_property", "key", wide=True),
            ),
        ),
        READ,
    ),
    "order": (
        Section(
            "topics",
            "Topics",
            (
                _TOPIC,
                _MESSAGES,
                Column("keys", "keys", Kind.COUNT),
                Column("moved_keys", "in several queues", Kind.COUNT),
                Column("moves", "moves", Kind.COUNT),
                Column("inversions", "sent in other order", Kind.COUNT),
                Column("queues_before", "queues before", Kind.COUNT),
                Column("queues_after", "after", Kind.COUNT),
                Column("explained_moves", "explains", Kind.COUNT),
                Column("first_move_ms", "first move", Kind.TIME_MS, wide=True),
                Column("last_move_ms", "last move", Kind.TIME_MS, wide=True),
            ),
        ),
        Section(
            "periods",
            "Periods of violation",
            (
                _TOPIC,
                _BEGIN,
                _END,
                Column("moves", "moves", Kind.COUNT),
                Column("inversions", "sent in other order", Kind.COUNT),
                Column("queues_in_use_before", "queues in use before", Kind.COUNT),
                Column("queues_in_use_after", "after", Kind.COUNT),
            ),
        ),
        Section(
            "keys",
            "Keys that moved most",
            (
                _TOPIC,
                _KEY,
                _MESSAGES,
                Column("queues", "queues", Kind.COUNT),
                Column("moves", "moves", Kind.COUNT),
                Column("inversions", "sent in other order", Kind.COUNT),
                _OLDEST,
                _NEWEST,
            ),
        ),
        Section(
            "times",
            "Over time",
            (
                _TOPIC,
                _TIME,
                Column("moves", "moves", Kind.COUNT),
                Column("inversions", "sent in other order", Kind.COUNT),
            ),
        ),
        READ,
    ),
    "duplicates": (
        Section(
            "topics",
            "Topics",
            (
                _TOPIC,
                _BY,
                _MESSAGES,
                Column("keys", "keys", Kind.COUNT),
                Column("repeated_keys", "stored again", Kind.COUNT),
                _COPIES,
                Column("same_host_copies", "by the same host", Kind.COUNT),
                Column("typical_gap_ms", "typical gap, from", Kind.DURATION_MS),
            ),
        ),
        Section("windows", "Resend windows", (_TOPIC, _BY, _BEGIN, _END, _COPIES)),
        Section("producers", "Who sent the copies", (_TOPIC, _BY, _HOST, _COPIES)),
        Section("gaps", "Spacing", (_TOPIC, _BY, Column("from_ms", "from", Kind.DURATION_MS), _COPIES)),
        Section(
            "keys",
            "Keys with most copies",
            (_TOPIC, _BY, _KEY, _MESSAGES, Column("hosts", "hosts", Kind.COUNT), _OLDEST, _NEWEST),
        ),
        Section("times", "Over time", (_TOPIC, _BY, _TIME, _COPIES)),
        READ,
    ),
    **report_sections_store.SECTIONS,
}
