"""The sections of each report: which rows, under which title, with which columns."""

from __future__ import annotations

from mqctl.render.document import CellKind, Column
from mqctl.render.reports import sections_state
from mqctl.render.section import NO_NAME, READ, UNREAD, Section

_TOPIC = Column("topic", "topic")
_STORE = Column("store", "store", wide=True)
_BROKER = Column("broker", "broker", none="?")
_QUEUE = Column("queue_id", "queue", CellKind.COUNT)
_MESSAGES = Column("messages", "messages", CellKind.COUNT)
_BYTES = Column("bytes", "bytes", CellKind.BYTES)
_SHARE = Column("share", "share", CellKind.SHARE)
_KEY = Column("key", "key", none=NO_NAME)
_OLDEST = Column("oldest_ms", "first stored", CellKind.TIME_MS)
_NEWEST = Column("newest_ms", "last stored", CellKind.TIME_MS)
_BEGIN = Column("begin_ms", "from", CellKind.TIME_MS)
_END = Column("end_ms", "until", CellKind.TIME_MS)
_BY = Column("by", "by", CellKind.WORDS)
_TIME = Column("time_ms", "from", CellKind.TIME_MS)
_GROUP = Column("group", "group")
_COPIES = Column("copies", "copies", CellKind.COUNT)
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
                Column("oldest_ms", "oldest stored", CellKind.TIME_MS),
                Column("newest_ms", "newest stored", CellKind.TIME_MS),
                Column("lost_count", "lost", CellKind.COUNT),
                Column("dangling_count", "message deleted", CellKind.COUNT),
                Column("never_committed_count", "never committed", CellKind.COUNT),
            ),
        ),
        Section(
            "tags",
            "By tag",
            (_GROUP, _TOPIC, Column("tag", "tag", none=NO_NAME), _MESSAGES, _BYTES),
        ),
        Section("arrivals", "When it arrived", (_GROUP, _TOPIC, _TIME, _MESSAGES, _BYTES)),
        UNREAD,
    ),
    "skew": (
        Section(
            "topics",
            "Topics",
            (
                _TOPIC,
                Column("queues", "queues", CellKind.COUNT),
                _MESSAGES,
                _BYTES,
                Column("gini", "gini", CellKind.RATIO),
                Column("max_over_mean", "max/mean", CellKind.RATIO),
                Column("hot_broker", "hot broker", none="?"),
                Column("hot_queue_id", "hot queue", CellKind.COUNT),
                Column("hot_share", "its share", CellKind.SHARE),
                Column("hot_key", "hot key"),
                Column("hot_key_share", "its share", CellKind.SHARE),
                Column("bytes_gini", "gini of bytes", CellKind.RATIO, wide=True),
                Column("bytes_max_over_mean", "max/mean of bytes", CellKind.RATIO, wide=True),
                Column("hot_store", "hot store", wide=True),
            ),
        ),
        Section(
            "queues",
            "Queues",
            (
                _TOPIC,
                _BROKER,
                _QUEUE,
                _MESSAGES,
                _BYTES,
                _SHARE,
                Column("bytes_share", "of bytes", CellKind.SHARE),
                Column("key_lanes", "threads by key", CellKind.RATIO),
                _STORE,
            ),
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
                Column("share", "of queue", CellKind.SHARE),
                Column("missed_messages_most", "may be more by", CellKind.COUNT, wide=True),
                Column("new_queue", "new queue", CellKind.COUNT, wide=True),
                _STORE,
            ),
        ),
        Section("producers", "Born hosts", (_TOPIC, _HOST, _MESSAGES, _BYTES, _SHARE)),
        Section("sizes", "Body sizes", (_TOPIC, Column("from_bytes", "from", CellKind.BYTES), _MESSAGES, _BYTES)),
        Section(
            "resharded",
            "The same messages spread otherwise",
            (
                _TOPIC,
                Column("queues_now", "queues now", CellKind.COUNT),
                Column("new_queues", "then", CellKind.COUNT),
                Column("selector", "selector"),
                Column("moved_share", "would move", CellKind.SHARE),
                Column("moved_messages", "messages", CellKind.COUNT),
                Column("unkeyed_messages", "without key", CellKind.COUNT),
                Column("gini_now", "gini now", CellKind.RATIO),
                Column("gini_then", "then", CellKind.RATIO),
                Column("max_over_mean_now", "max/mean now", CellKind.RATIO),
                Column("max_over_mean_then", "then", CellKind.RATIO),
                Column("busiest_queue", "busiest", CellKind.COUNT, wide=True),
                Column("busiest_share", "its share", CellKind.SHARE, wide=True),
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
                Column("keys", "keys", CellKind.COUNT),
                Column("moved_keys", "in several queues", CellKind.COUNT),
                Column("moves", "moves", CellKind.COUNT),
                Column("inversions", "sent in other order", CellKind.COUNT),
                Column("queues_before", "queues before", CellKind.COUNT),
                Column("queues_after", "after", CellKind.COUNT),
                Column("explained_moves", "explains", CellKind.COUNT),
                Column("first_move_ms", "first move", CellKind.TIME_MS, wide=True),
                Column("last_move_ms", "last move", CellKind.TIME_MS, wide=True),
            ),
        ),
        Section(
            "periods",
            "Periods of violation",
            (
                _TOPIC,
                _BEGIN,
                _END,
                Column("moves", "moves", CellKind.COUNT),
                Column("inversions", "sent in other order", CellKind.COUNT),
                Column("queues_in_use_before", "queues in use before", CellKind.COUNT),
                Column("queues_in_use_after", "after", CellKind.COUNT),
            ),
        ),
        Section(
            "keys",
            "Keys that moved most",
            (
                _TOPIC,
                _KEY,
                _MESSAGES,
                Column("queues", "queues", CellKind.COUNT),
                Column("moves", "moves", CellKind.COUNT),
                Column("inversions", "sent in other order", CellKind.COUNT),
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
                Column("moves", "moves", CellKind.COUNT),
                Column("inversions", "sent in other order", CellKind.COUNT),
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
                Column("keys", "keys", CellKind.COUNT),
                Column("repeated_keys", "stored again", CellKind.COUNT),
                _COPIES,
                Column("same_host_copies", "by the same host", CellKind.COUNT),
                Column("typical_gap_ms", "typical gap, from", CellKind.DURATION_MS),
            ),
        ),
        Section("windows", "Resend windows", (_TOPIC, _BY, _BEGIN, _END, _COPIES)),
        Section("producers", "Who sent the copies", (_TOPIC, _BY, _HOST, _COPIES)),
        Section("gaps", "Spacing", (_TOPIC, _BY, Column("from_ms", "from", CellKind.DURATION_MS), _COPIES)),
        Section(
            "keys",
            "Keys with most copies",
            (_TOPIC, _BY, _KEY, _MESSAGES, Column("hosts", "hosts", CellKind.COUNT), _OLDEST, _NEWEST),
        ),
        Section("times", "Over time", (_TOPIC, _BY, _TIME, _COPIES)),
        READ,
    ),
    **sections_state.SECTIONS,
}
