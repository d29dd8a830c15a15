"""What brokers keep in a store directory: whatever else lies there may be evidence that nobody here can read.

Sources: `StorePathConfigHelper`, `BrokerPathConfigHelper`, `PopConsumerService`, `CompactionStore`,
`TimerMessageStore`, `MessageRocksDBStorage`, `LocalAuthenticationMetadataProvider`, `DefaultMetadataStore` and
`ConfigStorage` of 4.9.7, 5.3.3, 5.4.0 and 5.5.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from mqctl.model.lazy_dataclass import dataclass

DIRECTORIES = frozenset({
    "batchconsumequeue", "commitlog", "compaction", "config", "consumequeue", "consumequeue_ext",
    "consumequeue_rocksdb", "index", "kvStore", "redolog", "rocksdbstore", "statetable", "tiered_index_file",
    "timerlog", "transaction",
})  # fmt: skip
FILES = frozenset({"abort", "brokerIdentity", "checkpoint", "epochFileCheckpoint", "lock", "timerwheel"})
TABLES = frozenset({
    "acls", "consumerFilter.json", "consumerOffset.json", "consumerOffsets", "consumerOrderInfo.json",
    "delayOffset.json", "lmqConsumerOffset.json", "messageRequestMode.json", "rdb", "subscriptionGroup.json",
    "subscriptionGroups", "tieredStoreMetadata.json", "timercheck", "timermetrics", "topicQueueMapping.json",
    "topics", "topics.json", "transactionMetrics", "users",
})  # fmt: skip
"""Files of tables, and databases of them, in `config`."""
_TOPIC = frozenset({
    "attributes", "order", "perm", "readQueueNums", "topicFilterType", "topicName", "topicSysFlag", "writeQueueNums",
})  # fmt: skip
_GROUP = frozenset({
    "attributes", "brokerId", "consumeBroadcastEnable", "consumeEnable", "consumeFromMinEnable",
    "consumeMessageOrderly", "consumeTimeoutMinute", "groupName", "groupRetryPolicy", "groupSysFlag",
    "notifyConsumerIdsChangedEnable", "retryMaxTimes", "retryQueueNums", "subscriptionDataSet",
    "whichBrokerWhenConsumeSlowly",
})  # fmt: skip
_ANY: frozenset[str] = frozenset()
_OFFSETS = ("groupTopicMap", "lmqOffsetTable", "offsetTable", "pullOffsetTable", "resetOffsetTable")
_OFFSET_TABLES = dict.fromkeys(_OFFSETS, _ANY)
FIELDS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "topics.json": {"topicConfigTable": _TOPIC},
    "subscriptionGroup.json": {"subscriptionGroupTable": _GROUP, "forbiddenTable": _ANY},
    "consumerOffset.json": _OFFSET_TABLES,
    "lmqConsumerOffset.json": _OFFSET_TABLES,
    "delayOffset.json": {"offsetTable": _ANY},
}
"""Tables of such files, and the fields of their entries; none where these are names. Files name no release: what a
newer broker wrote shows by a table or a field that no known one writes."""

# An installation that has its store in its own directory, and what hosts and people leave behind.
_OTHERS = frozenset({"benchmark", "bin", "conf", "lib", "logs", "lost+found"})
_OTHERS_ENDINGS = re.compile(
    r"(?:^\.|~$|\.(?:conf|gz|hprof|log|md|pid|properties|sh|tar|tgz|txt|xml|ya?ml|zip|zst)$)", re.ASCII
)
_COPY = re.compile(r"(?:\.(?:bak|tmp|set-aside|old|orig))+$|\.\d{6,17}$", re.ASCII)
_RAFT = "dledger-"


@dataclass(frozen=True, slots=True)
class Kept:
    """What of timers and transactions a store keeps in RocksDB.

    Attributes:
        problems: by part, why it is not read.
        unknown: column families that are not known here.
    """

    problems: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def unknown_parts(store: Path) -> list[str]:
    """Returns what lies in a store and in its `config`, and is not known to be a broker's, as paths below the store."""
    config = store / "config"
    return [
        *_unknown(_names(store), DIRECTORIES | FILES),
        *(f"config/{name}" for name in _unknown(_names(config), TABLES)),
    ]


def unknown_fields(name: str, document: Mapping[str, object]) -> list[str]:
    """Returns the tables of a file in `config`, and the fields of their entries, that no known broker writes."""
    tables = FIELDS.get(name)
    if tables is None:
        return []
    odd = [key for key in document if key not in tables and key != "dataVersion"]
    for table, fields in tables.items():
        entries = document.get(table)
        if not fields or not isinstance(entries, Mapping):
            continue
        written = {str(key) for entry in entries.values() if isinstance(entry, Mapping) for key in entry}
        odd += (f"{table}.*.{each}" for each in sorted(written - fields))
    return [f"config/{name}: {each}" for each in odd]


def _names(directory: Path) -> list[str]:
    try:
        return sorted(each.name for each in directory.iterdir())
    except OSError:  # who reads the parts that must be there says so
        return []


def _unknown(names: Iterable[str], known: frozenset[str]) -> list[str]:
    return [
        name
        for name in names
        if _COPY.sub("", name) not in known
        and name not in _OTHERS
        and not name.startswith(_RAFT)
        and not _OTHERS_ENDINGS.search(name)
    ]
