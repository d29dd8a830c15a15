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
from mqctl.model.member import KNOWN_KINDS

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
_RETRIES = frozenset({"customizedRetryPolicy", "exponentialRetryPolicy", "type"})
_MODE = frozenset({"consumerGroup", "mode", "popShareQueueNum", "topic"})
_BATCH = frozenset({"a", "cm", "i", "l", "o", "oc", "ot", "popTime"})
_FILTER = frozenset({
    "bloomFilterData", "bornTime", "clientVersion", "compiledExpression", "consumerGroup", "dead", "deadTime",
    "expression", "expressionType", "topic",
})  # fmt: skip
_ANY: frozenset[str] = frozenset()
_OFFSETS = ("groupTopicMap", "lmqOffsetTable", "offsetTable", "pullOffsetTable", "resetOffsetTable")
_OFFSET_TABLES = dict.fromkeys(_OFFSETS, _ANY)
FIELDS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "topics.json": {"topicConfigTable.*": _TOPIC},
    "subscriptionGroup.json": {
        "subscriptionGroupTable.*": _GROUP,
        "subscriptionGroupTable.*.groupRetryPolicy": _RETRIES,
        "forbiddenTable": _ANY,
    },
    "consumerOffset.json": _OFFSET_TABLES,
    "lmqConsumerOffset.json": _OFFSET_TABLES,
    "delayOffset.json": {"offsetTable": _ANY},
    "messageRequestMode.json": {"messageRequestModeMap.*.*": _MODE},
    "consumerOrderInfo.json": {"table.*.*": _BATCH, "orderInfoCount": _ANY, "orderedConsumptionLevel": _ANY},
    "consumerFilter.json": {
        "filterDataByTopic.*": frozenset({"groupFilterData", "topic"}),
        "filterDataByTopic.*.groupFilterData.*": _FILTER,
    },
}
"""Tables of such files, and the fields of their entries, by where they stand (`*`: whatever name is there); none where
these are names. Files name no release: what a newer broker wrote shows by a table or a field that no known one writes.
"""
VALUES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "messageRequestMode.json": {"messageRequestModeMap.*.*.mode": KNOWN_KINDS["mode"]},
    "consumerOrderInfo.json": {"orderedConsumptionLevel": frozenset({"QUEUE"})},
    "consumerFilter.json": {"filterDataByTopic.*.groupFilterData.*.expressionType": KNOWN_KINDS["expressionType"]},
}
"""Fields with the values that known brokers write."""

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
    """Returns what of a file in `config` no known broker writes: its tables, fields of their entries, and values."""
    tables = FIELDS.get(name)
    if tables is None:
        return []
    odd = sorted(document.keys() - {table.split(".")[0] for table in tables} - {"dataVersion"})
    for place, fields in tables.items():
        if fields:
            written = {str(key) for entry in _at(document, place) if isinstance(entry, Mapping) for key in entry}
            odd += (f"{place}.{each}" for each in sorted(written - fields))
    for place, known in VALUES.get(name, {}).items():
        values = {str(value) for value in _at(document, place) if value is not None}
        odd += (f"{place}={value}" for value in sorted(values - known))
    return [f"config/{name}: {each}" for each in odd]


def _at(document: Mapping[str, object], place: str) -> list[object]:
    """Returns all that stands at a place of a document."""
    standing: list[object] = [document]
    for name in place.split("."):
        tables = [each for each in standing if isinstance(each, Mapping)]
        standing = [value for table in tables for key, value in table.items() if name in ("*", key)]
    return standing


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
