"""The codec of typed bodies: annotations of a declaration drive reading and writing.

Reading is as tolerant as fastjson: unknown properties are ignored, missing ones and nulls keep their default, numbers
and booleans may be quoted, map keys may be bare, quoted, objects, or objects inside strings. Writing puts properties in
alphabetical order and leaves out None, which is byte for byte what a real broker sends (maps keep their own order).
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from mqctl.errors import BadInputError
from mqctl.model.config import MOST_QUEUES, DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.model.queue import MessageQueue
from mqctl.protocol.declared import Declared
from mqctl.protocol.fastjson import FastjsonError, ObjectKey, dump_bytes, json_string, loads, queue_key
from mqctl.text import sentence

EMPTY: Mapping[Any, Any] = MappingProxyType({})
Reader = Callable[[object], Any]
Writer = Callable[[Any, bool], object]
QueueId = Annotated[int, "32 bits"]
"""Number of a queue as a key; what a request could not carry is refused where it is read."""


class BodyError(BadInputError):
    """A body that does not have the shape its request asks for."""


def _wrong(expected: str, value: object) -> BodyError:
    # References make a value of a few bytes as large as memory: of what is nested only the beginning is written.
    shown = reprlib.repr(value) if isinstance(value, dict | list) else str(value)
    return BodyError(
        sentence("wire-body-read", "A body cannot be read"),
        reason=sentence(
            "wire-other-expected", "{expected} is expected, not {shown!r}", expected=expected, shown=shown[:60]
        ),
    )


class Body(Declared):
    """Base of all JSON bodies."""

    _codecs: ClassVar[tuple[tuple[str, str, Reader, Writer], ...] | None] = None
    _flat: ClassVar[tuple[tuple[str, str, Callable[[Any], str]], ...] | None] = None
    """Name, what comes before the value, and the value's text, of a class of numbers, texts and lists of numbers."""

    @classmethod
    def _codec(cls) -> tuple[tuple[str, str, Reader, Writer], ...]:
        known: tuple[tuple[str, str, Reader, Writer], ...] | None = cls.__dict__.get("_codecs")
        if known is None:
            hints = get_type_hints(cls, include_extras=True)
            fields = sorted(cls.fields(), key=lambda item: item.wire)
            known = cls._codecs = tuple((item.name, item.wire, *_codec_of(hints[item.name])) for item in fields)
            texts = [(item.name, f'"{item.wire}":', _FLAT.get(_bare(hints[item.name]))) for item in fields]
            flat = tuple([(name, before, text) for name, before, text in texts if text is not None])
            cls._flat = flat if len(flat) == len(fields) else None
        return known

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads a body. Raises BodyError when it is none, or empty."""
        try:
            value = loads(data)
        except FastjsonError as error:
            raise BodyError(sentence("wire-body-read", "A body cannot be read"), reason=str(error)) from error
        return cls.from_json(value)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads a body from what `fastjson.loads` returned. Raises BodyError."""
        if not isinstance(value, dict):
            raise _wrong(sentence("wire-named-object", "{name}, an object,", name=cls.__name__), value)
        values: dict[str, object] = {}
        for name, wire, read, _ in cls.__dict__.get("_codecs") or cls._codec():
            item = value.get(wire)
            if item is not None:
                values[name] = read(item)
        missing = len(values) < len(cls._names) and [
            item.wire for item in cls.fields() if item.required and item.name not in values
        ]
        if missing:
            raise BodyError(
                sentence("wire-could-not-read", "{name} cannot be read", name=cls.__name__),
                reason=sentence("wire-names-missing", "{names} missing", names=missing),
            )
        return cls._complete(values)

    def to_json(self, *, is_v5: bool = False) -> dict[str, object]:
        """Returns the value that `fastjson.dumps` writes; `is_v5` adds what a 5.x sender adds to configurations."""
        own = self.__dict__
        return {wire: write(own[name], is_v5) for name, wire, _, write in self._codec() if own[name] is not None}

    def to_bytes(self, *, is_v5: bool = False, browser_compatible: bool = False) -> bytes:
        """Writes the body; `browser_compatible` is the standard JSON of route answers."""
        own = self.__dict__
        self._codec()
        if self._flat is not None and not browser_compatible:
            shown = [before + text(own[name]) for name, before, text in self._flat if own[name] is not None]
            return f"{{{','.join(shown)}}}".encode("utf-8", "replace")
        return dump_bytes(self.to_json(is_v5=is_v5), browser_compatible=browser_compatible)


def _bare(kind: Any) -> Any:
    """Returns a kind without its None."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = [part for part in get_args(kind) if part is not NoneType]
    return kind


def _codec_of(kind: Any) -> tuple[Reader, Writer]:
    known = _SIMPLE.get(kind)
    if known is not None:
        return known
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _codec_of(_bare(kind))
    if origin is tuple:
        return _list_codec(parts[0])
    if origin is not None and issubclass(origin, Mapping):
        return _map_codec(*parts)
    if isinstance(kind, type) and issubclass(kind, Body):
        return kind.from_json, lambda value, is_v5: value.to_json(is_v5=is_v5)
    raise TypeError(f"no body codec for {kind}")


def _list_codec(part: Any) -> tuple[Reader, Writer]:
    read_item, write_item = _codec_of(part)

    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise _wrong(sentence("wire-a-list", "a list"), value)
        return tuple([read_item(item) for item in value if item is not None])

    return read, lambda value, is_v5: [write_item(item, is_v5) for item in value]


def _map_codec(key_kind: Any, part: Any) -> tuple[Reader, Writer]:
    read_item, write_item = _codec_of(part)
    read_key, write_key = _codec_of(key_kind)
    if key_kind is MessageQueue:
        read_key, write_key = _read_queue_key, _write_queue_key

    def read(value: object) -> dict[object, object]:
        if not isinstance(value, dict):
            raise _wrong(sentence("wire-a-map", "a map"), value)
        return {read_key(key): read_item(item) for key, item in value.items() if item is not None}

    return read, lambda value, is_v5: {write_key(key, is_v5): write_item(item, is_v5) for key, item in value.items()}


_MOST_PIECES = 100_000
"""Values within a value that is to be one text: fastjson takes an object for its JSON."""
_MOST_UINT64 = (1 << 64) - 1
_MOST_INT32 = (1 << 31) - 1


def _read_int(value: object) -> int:
    """Reads a signed number of 64 bits; the C++ client writes -1 as an unsigned one, the same bits to Java."""
    if type(value) is int and -MOST_INT64 <= value <= MOST_INT64:
        return value
    number: int | None = None
    if isinstance(value, int):
        number = int(value) if -MOST_INT64 - 1 <= value <= _MOST_UINT64 else None
    elif isinstance(value, float):
        number = int(value) if abs(value) <= MOST_INT64 else None
    else:
        number = decimal(str(value), -MOST_INT64 - 1, _MOST_UINT64)
    if number is None:
        raise _wrong(sentence("wire-an-integer", "an integer"), value)
    return number if number <= MOST_INT64 else number - _MOST_UINT64 - 1


def _read_float(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float | str) else float(str(value))
    except (ValueError, OverflowError):
        raise _wrong(sentence("common-a-number", "a number"), value) from None


def _read_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if isinstance(value, int):
        return value == 1
    raise _wrong(sentence("wire-a-boolean", "a boolean"), value)


def _read_str(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list) and _pieces(value, _MOST_PIECES) > _MOST_PIECES:
        raise _wrong(sentence("wire-a-text", "a text"), value)
    return dump_bytes(value).decode()


def _pieces(value: object, most: int) -> int:
    """Counts the values within a value, those that references repeat each time; ends soon after `most`."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        part = waiting.pop()
        if isinstance(part, dict | list):
            count += len(part)
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return count


def _read_queue(value: object) -> MessageQueue:
    if not isinstance(value, dict | ObjectKey):
        raise _wrong(sentence("wire-message-queue", "a message queue"), value)
    get = value.get
    return MessageQueue(
        topic=_read_str(get("topic") or ""),
        broker_name=_read_str(get("brokerName") or ""),
        queue_id=_read_queue_id(get("queueId") or 0),
    )


def _read_queue_id(value: object) -> int:
    number = _read_int(value)
    if not -_MOST_INT32 - 1 <= number <= _MOST_INT32:
        raise _wrong(sentence("wire-queue-id", "the id of a queue, of 32 bits,"), value)
    return number


def _read_queue_key(value: object) -> MessageQueue:
    """Reads a key that is an object, or a string that holds one."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except FastjsonError:
            raise _wrong(sentence("wire-message-queue", "a message queue"), value) from None
    return _read_queue(value)


def _write_queue_key(value: MessageQueue, _is_v5: object) -> ObjectKey:
    return queue_key(value.topic, value.broker_name, value.queue_id)


def _write_queue(value: MessageQueue, _is_v5: object) -> object:
    return {"brokerName": value.broker_name, "queueId": value.queue_id, "topic": value.topic}


def _fields(value: object, expected: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(expected, value)
    return value


def read_data_version(value: object) -> DataVersion:
    """Reads a data version. Raises BodyError."""
    get = _fields(value, sentence("wire-data-version", "a data version")).get
    return DataVersion(
        counter=_read_int(get("counter") or 0),
        timestamp_ms=_read_int(get("timestamp") or 0),
        state_version=_read_int(get("stateVersion") or 0),
    )


def write_data_version(value: DataVersion, is_v5: bool, /) -> object:  # noqa: FBT001
    """Returns the JSON of a data version."""
    state = {"stateVersion": value.state_version} if is_v5 else {}
    return {"counter": value.counter, **state, "timestamp": value.timestamp_ms}


_TOPIC_FIELDS: tuple[tuple[str, str, Reader], ...] = (
    ("order", "order", _read_bool),
    ("perm", "perm", _read_int),
    ("read_queue_count", "readQueueNums", _read_int),
    ("filter_type", "topicFilterType", _read_str),
    ("name", "topicName", _read_str),
    ("sys_flag", "topicSysFlag", _read_int),
    ("write_queue_count", "writeQueueNums", _read_int),
)
_QUEUE_COUNTS = (("read_queue_count", "readQueueNums"), ("write_queue_count", "writeQueueNums"))
_GROUP_FIELDS: tuple[tuple[str, str, Reader, bool], ...] = (
    ("broker_id", "brokerId", _read_int, False),
    ("consume_broadcast_enable", "consumeBroadcastEnable", _read_bool, False),
    ("consume_enable", "consumeEnable", _read_bool, False),
    ("consume_from_min_enable", "consumeFromMinEnable", _read_bool, False),
    ("consume_message_orderly", "consumeMessageOrderly", _read_bool, True),
    ("consume_timeout_minute", "consumeTimeoutMinute", _read_int, True),
    ("name", "groupName", _read_str, False),
    ("group_sys_flag", "groupSysFlag", _read_int, True),
    ("notify_consumer_ids_changed_enable", "notifyConsumerIdsChangedEnable", _read_bool, False),
    ("retry_max_times", "retryMaxTimes", _read_int, False),
    ("retry_queue_count", "retryQueueNums", _read_int, False),
    ("which_broker_when_consume_slowly", "whichBrokerWhenConsumeSlowly", _read_int, False),
)


def _texts(value: object) -> dict[str, str]:
    return (
        {str(key).removeprefix("+"): _read_str(item) for key, item in value.items()} if isinstance(value, dict) else {}
    )


def read_topic_config(value: object) -> TopicConfig:
    """Reads the settings of a topic. Raises BodyError."""
    item = _fields(value, "a topic's settings")
    known = {name: read(item[wire]) for name, wire, read in _TOPIC_FIELDS if item.get(wire) is not None}
    if "name" not in known:
        raise BodyError(
            sentence("wire-topics-settings-read", "A topic's settings cannot be read"),
            reason=sentence("wire-topicname-missing", "topicName is missing"),
        )
    for name, wire in _QUEUE_COUNTS:
        if not 0 <= known.get(name, 0) <= MOST_QUEUES:
            reason = sentence(
                "wire-queues-of-topic",
                "{wire} of {topic} is {count}, and mqctl reads at most {most_queues:,}",
                wire=wire,
                topic=known["name"][:200],
                count=known[name],
                most_queues=MOST_QUEUES,
            )
            raise BodyError(sentence("wire-topics-settings-read", "A topic's settings cannot be read"), reason=reason)
    return TopicConfig(**known, attributes=_texts(item.get("attributes")))


def write_topic_config(value: TopicConfig, is_v5: bool, /) -> dict[str, object]:  # noqa: FBT001
    """Returns the JSON of a topic's settings."""
    start: dict[str, object] = {"attributes": dict(value.attributes)} if is_v5 else {}
    return start | {wire: getattr(value, name) for name, wire, _ in _TOPIC_FIELDS}


def read_group_config(value: object) -> SubscriptionGroupConfig:
    """Reads the settings of a consumer group. Raises BodyError."""
    item = _fields(value, "a group's settings")
    known = {name: read(item[wire]) for name, wire, read, _ in _GROUP_FIELDS if item.get(wire) is not None}
    if "name" not in known:
        raise BodyError(
            sentence("wire-groups-settings-read", "A group's settings cannot be read"),
            reason=sentence("wire-groupname-missing", "groupName is missing"),
        )
    policy = item.get("groupRetryPolicy")
    policy = policy if isinstance(policy, dict) else {}
    customized = policy.get("customizedRetryPolicy")
    waits = customized.get("next") if isinstance(customized, dict) else None
    subscriptions = item.get("subscriptionDataSet")
    entries = [entry for entry in subscriptions if isinstance(entry, dict)] if isinstance(subscriptions, list) else []
    return SubscriptionGroupConfig(
        **known,
        retry_policy_type=_read_str(policy.get("type") or "CUSTOMIZED"),
        retry_intervals_ms=tuple(_read_int(wait) for wait in waits) if isinstance(waits, list) else (),
        subscriptions={_read_str(e.get("topic") or ""): _read_str(e.get("subString") or "*") for e in entries},
        attributes=_texts(item.get("attributes")),
    )


def write_group_config(value: SubscriptionGroupConfig, is_v5: bool, /) -> dict[str, object]:  # noqa: FBT001
    """Returns the JSON of a group's settings."""
    known: dict[str, object] = {wire: getattr(value, name) for name, wire, _, new in _GROUP_FIELDS if is_v5 or not new}
    if is_v5:
        policy: dict[str, object] = {"type": value.retry_policy_type}
        if value.retry_intervals_ms:
            policy = {"customizedRetryPolicy": {"next": list(value.retry_intervals_ms)}, **policy}
        known |= {"attributes": dict(value.attributes), "groupRetryPolicy": policy}
        if value.subscriptions:
            known["subscriptionDataSet"] = [
                {"subString": text, "topic": topic} for topic, text in value.subscriptions.items()
            ]
    return dict(sorted(known.items()))


def _as_is(value: Any, _is_v5: object) -> object:
    return value


_FLAT: dict[Any, Callable[[Any], str]] = {
    str: json_string,
    int: "%d".__mod__,
    tuple[int, ...]: lambda value: f"[{','.join(map(str, value))}]",
}
_SIMPLE: dict[Any, tuple[Reader, Writer]] = {
    str: (_read_str, _as_is),
    int: (_read_int, _as_is),
    QueueId: (_read_queue_id, _as_is),
    float: (_read_float, lambda value, _: float(value)),
    bool: (_read_bool, _as_is),
    object: (lambda value: value, _as_is),
    MessageQueue: (_read_queue, _write_queue),
    DataVersion: (read_data_version, write_data_version),
    TopicConfig: (read_topic_config, write_topic_config),
    SubscriptionGroupConfig: (read_group_config, write_group_config),
}
