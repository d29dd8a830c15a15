"""The files under `config/`: read as the broker reads them, with the backup where the main file is no use.

Source: `ConfigManager.load` of 4.9.8 and 5.3.3: the main file counts unless it is missing, empty or unparsable, then
its `.bak`; with neither the broker starts empty and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.protocol.fastjson import FastjsonError, loads
from mqctl.store.plain_files import read_file
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.config import SubscriptionGroupConfig, TopicConfig

TOPICS = "topics.json"
GROUPS = "subscriptionGroup.json"
CONSUMER_OFFSETS = "consumerOffset.json"
LMQ_OFFSETS = "lmqConsumerOffset.json"
DELAY_OFFSETS = "delayOffset.json"
CONSUMER_FILTERS = "consumerFilter.json"
ORDER_INFOS = "consumerOrderInfo.json"
REQUEST_MODES = "messageRequestMode.json"
USERS, ACLS = "users.json", "acls.json"
ALWAYS_THERE = (TOPICS, GROUPS, CONSUMER_OFFSETS, DELAY_OFFSETS, CONSUMER_FILTERS)

Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """One configuration as the broker would load it.

    Attributes:
        state: which file counts and why.
        value: its document; an empty object when neither file is of use.
        problems: entries that were left out because they do not fit, in words; the broker would fail or ignore them.
    """

    state: ConfigFileState
    value: Table
    problems: tuple[str, ...] = field(default=())


def read_config(directory: Path, name: str) -> LoadedConfig:
    """Reads the configuration `name` below `directory`, from its backup when the main file is of no use.

    Raises:
        PermissionDeniedError, StorageError: a file that would count cannot be read here; the broker perhaps can.
    """
    main_problem = None
    for path, source in ((directory / name, FileSource.MAIN), (directory / f"{name}.bak", FileSource.BACKUP)):
        value, problem = _attempt(path)
        if value is not None:
            mtime_ms = path.stat().st_mtime_ns // 1_000_000
            state = ConfigFileState(name=name, source=source, main_problem=main_problem, mtime_ms=mtime_ms)
            return LoadedConfig(state, value)
        main_problem = main_problem or problem
    return LoadedConfig(ConfigFileState(name=name, source=FileSource.NONE, main_problem=main_problem), {})


def offsets_name(directory: Path) -> str:
    """Returns which file has the offsets of consumers: with `enableLmq` a broker writes another one instead."""
    return max((CONSUMER_OFFSETS, LMQ_OFFSETS), key=lambda name: _written_ns(directory, name))


def _written_ns(directory: Path, name: str) -> int:
    times = [0]
    for path in (directory / name, directory / f"{name}.bak"):
        with suppress(OSError):
            times.append(path.stat().st_mtime_ns)
    return max(times)


def unread_config(name: str, error: MqctlError) -> LoadedConfig:
    """Returns what a look at a store has of a configuration that `read_config` could not read: nothing but why."""
    problem = sentence(
        "store-could-not-read", "could not be read: {reason}; {remedy}", reason=error.reason, remedy=error.remedy
    )
    return LoadedConfig(ConfigFileState(name=name, source=FileSource.UNREAD, main_problem=problem), {})


def read_json_file(path: Path) -> LoadedConfig:
    """Reads one file by itself, without a backup; a missing or broken one has source NONE."""
    value, problem = _attempt(path)
    if value is None:
        return LoadedConfig(ConfigFileState(name=path.name, source=FileSource.NONE, main_problem=problem), {})
    mtime_ms = path.stat().st_mtime_ns // 1_000_000
    return LoadedConfig(ConfigFileState(name=path.name, source=FileSource.MAIN, mtime_ms=mtime_ms), value)


def _attempt(path: Path) -> tuple[Table | None, str]:
    try:
        data = read_file(path)
    except NotFoundError:
        return None, "missing"
    if not data.strip(b" \t\r\n\0"):
        return None, "empty" if not data else sentence("store-blanks-or-zeros", "nothing but blanks or zeros")
    try:
        value = loads(data)
    except FastjsonError as error:
        return None, sentence("store-unparsable", "unparsable: {error}", error=error)
    if not isinstance(value, dict):
        return None, sentence("store-no-json-object", "no JSON object")
    problem = _unfit(value)
    return (None, problem) if problem else ({str(key): item for key, item in value.items()}, "")


def _unfit(value: Table) -> str:
    """Returns what keeps a broker from loading a document that can be parsed: numbers that its fields cannot hold."""
    version = _object(value.get("dataVersion"))
    for key in ("timestamp", "counter", "stateVersion", "stateMachineVersion"):
        if version.get(key) is not None and _maybe_int(version[key]) is None:
            return sentence("store-version-no-number", "unparsable: dataVersion.{key} is not a number", key=key)
    endless = _endless(value)
    if not endless:
        return ""
    return sentence("store-no-finite-number", "unparsable: {place} is not a finite number", place=endless)


def _endless(document: object) -> str | None:
    """Returns where a number stands that is not finite; references (`$ref`) may have made the document cyclic."""
    waiting, seen = [("", document)], set[int]()
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, float) and not isfinite(value):
            return place
        if isinstance(value, dict | list) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{place}.{key}".lstrip("."), item) for key, item in items]
    return None


def changed_ms(file: LoadedConfig) -> int | None:
    """Returns when a table was last changed, as it says itself; None for a backup, behind which changes may be."""
    time_ms = _maybe_int(_object(file.value.get("dataVersion")).get("timestamp"))
    return time_ms if file.state.source is FileSource.MAIN else None


def topic_configs(file: LoadedConfig) -> tuple[TopicConfig, ...]:
    """Returns the topics of `topics.json`, sorted by name."""
    table = _object(file.value.get("topicConfigTable"))
    return tuple(_topic(name, _object(item)) for name, item in sorted(table.items()))


def queue_counts(file: LoadedConfig) -> dict[str, int] | None:
    """Returns how many queues topics have by `topics.json`, as producers or consumers know them; None without it."""
    table = _object(file.value.get("topicConfigTable"))
    if not table:
        return None
    items = {name: _object(item) for name, item in table.items()}
    return {
        name: max(_int(item.get("readQueueNums"), 16), _int(item.get("writeQueueNums"), 16))
        for name, item in items.items()
    }


def _topic(name: str, item: Table) -> TopicConfig:
    from mqctl.model.config import TopicConfig

    return TopicConfig(
        name=name,
        read_queue_count=_int(item.get("readQueueNums"), 16),
        write_queue_count=_int(item.get("writeQueueNums"), 16),
        perm=_int(item.get("perm"), 6),
        filter_type=str(item.get("topicFilterType", "SINGLE_TAG")),
        sys_flag=_int(item.get("topicSysFlag"), 0),
        order=item.get("order") is True,
        attributes={str(key).removeprefix("+"): str(value) for key, value in _object(item.get("attributes")).items()},
    )


def group_configs(file: LoadedConfig) -> tuple[SubscriptionGroupConfig, ...]:
    """Returns the consumer groups of `subscriptionGroup.json`, sorted by name."""
    table = _object(file.value.get("subscriptionGroupTable"))
    forbidden = _object(file.value.get("forbiddenTable"))
    return tuple(_group(name, _object(item), _object(forbidden.get(name))) for name, item in sorted(table.items()))


def _group(name: str, item: Table, forbidden: Table) -> SubscriptionGroupConfig:
    from mqctl.model.config import SubscriptionGroupConfig

    policy = _object(item.get("groupRetryPolicy"))
    waits = _object(policy.get("customizedRetryPolicy")).get("next")
    subscriptions = item.get("subscriptionDataSet")
    known = [_object(entry) for entry in subscriptions] if isinstance(subscriptions, list) else []
    return SubscriptionGroupConfig(
        name=name,
        consume_enable=item.get("consumeEnable", True) is True,
        consume_from_min_enable=item.get("consumeFromMinEnable", True) is True,
        consume_broadcast_enable=item.get("consumeBroadcastEnable", True) is True,
        consume_message_orderly=item.get("consumeMessageOrderly", False) is True,
        retry_queue_count=_int(item.get("retryQueueNums"), 1),
        retry_max_times=_int(item.get("retryMaxTimes"), 16),
        broker_id=_int(item.get("brokerId"), 0),
        which_broker_when_consume_slowly=_int(item.get("whichBrokerWhenConsumeSlowly"), 1),
        notify_consumer_ids_changed_enable=item.get("notifyConsumerIdsChangedEnable", True) is True,
        group_sys_flag=_int(item.get("groupSysFlag"), 0),
        consume_timeout_minute=_int(item.get("consumeTimeoutMinute"), 15),
        retry_policy_type=str(policy.get("type", "CUSTOMIZED")),
        retry_intervals_ms=tuple(_int(wait, 0) for wait in waits) if isinstance(waits, list) else (),
        subscriptions={str(entry["topic"]): str(entry.get("subString", "*")) for entry in known if "topic" in entry},
        attributes={str(key): str(value) for key, value in _object(item.get("attributes")).items()},
        forbidden={str(topic): _int(bits, 0) for topic, bits in forbidden.items()},
    )


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """Committed consumer offsets.

    Attributes:
        offsets: (topic, group) -> queue id -> next queue offset to consume.
        ignored: keys or entries that the broker would ignore: not of the form `topic@group`, or no numbers.
    """

    offsets: Mapping[tuple[str, str], Mapping[int, int]]
    ignored: tuple[str, ...] = ()


def consumer_offsets(file: LoadedConfig) -> OffsetTable:
    """Returns the offsets of `consumerOffset.json`, or of `lmqConsumerOffset.json` with those of light queues."""
    offsets: dict[tuple[str, str], dict[int, int]] = {}
    ignored: list[str] = []
    for key, queues in _object(file.value.get("offsetTable")).items():
        parts = str(key).split("@")
        if len(parts) != 2:
            ignored.append(str(key))
            continue
        committed: dict[int, int] = {}
        for queue_id, offset in _object(queues).items():
            number, value = _maybe_int(queue_id), _maybe_int(offset)
            if number is None or value is None:
                ignored.append(sentence("common-queue", "{key} queue {queue_id}", key=key, queue_id=queue_id))
            else:
                committed[number] = value
        offsets[(parts[0], parts[1])] = committed
    for key, offset in _object(file.value.get("lmqOffsetTable")).items():
        topic, _, group = str(key).partition("@")
        value = _maybe_int(offset)
        if group and value is not None:
            offsets[(topic, group)] = {0: value}
    return OffsetTable(offsets, tuple(ignored))


@dataclass(frozen=True, slots=True)
class DelayOffsets:
    """Next offsets of the schedule queues by delay level, and keys that are no level."""

    offsets: Mapping[int, int]
    rejected: tuple[str, ...] = ()


def delay_offsets(file: LoadedConfig) -> DelayOffsets:
    """Returns the offsets of `delayOffset.json`: delay level (from 1) -> next offset of queue `level - 1`."""
    offsets: dict[int, int] = {}
    rejected: list[str] = []
    for key, offset in _object(file.value.get("offsetTable")).items():
        level, value = _maybe_int(key), _maybe_int(offset)
        if level is None or level < 1 or value is None:
            rejected.append(str(key))
        else:
            offsets[level] = value
    return DelayOffsets(dict(sorted(offsets.items())), tuple(rejected))


def _object(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def _maybe_int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return decimal(str(value), -MOST_INT64)


def _int(value: object, default: int) -> int:
    number = _maybe_int(value)
    return default if number is None else number
