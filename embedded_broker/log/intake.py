"""Messages on their way into the store: the one path that every stored message takes.

What the broker changes on the way (`SendMessageProcessor`, `CommitLog.asyncPutMessage` of 4.9.8): the cluster's name is
added to the properties, WAIT is dropped (5.x keeps it), a delay level sends the message through the schedule topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mqctl.model.java_hash import java_string_hash
from mqctl.model.names import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR as NV
from mqctl.protocol.properties import PROPERTY_SEPARATOR as SEP

if TYPE_CHECKING:
    from embedded_broker.broker import Broker
    from embedded_broker.log.store import Appended

WAIT = "WAIT"
_TAGS, _WAIT, _CLUSTER, _DELAY = f"TAGS{NV}", f"{WAIT}{NV}", f"CLUSTER{NV}", f"DELAY{NV}"
_POP_CK = f"POP_CK{NV}"
_TIMER = "TIMER_DEL"  # begins TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS
_TIMER_PROPERTIES = ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS")
_TIMER_UNITS_MS = {"TIMER_DELAY_SEC": 1_000, "TIMER_DELAY_MS": 1}
_TIMER_OUT_MS = "TIMER_OUT_MS"
TRANSACTION_BITS = 0xC
_COMMITTED = 0x8
MULTI_TAGS = 0x2
"""System flag of messages of a topic whose filter type is MULTI_TAG."""


@dataclass(slots=True, kw_only=True)
class Incoming:
    """A message as its sender gave it; `properties` is text without separator at the end.

    Attributes:
        prepared_offset: physical offset of the half message that this one commits.
        timer_out_ms: set by `put` when the message waits in the timer wheel: the start of the unit before its moment.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: str
    sys_flag: int = 0
    flag: int = 0
    born_ms: int
    born_host: str
    reconsume_times: int = 0
    prepared_offset: int = 0
    timer_out_ms: int | None = None


class Refusal(Exception):
    """A message that the broker does not take.

    Attributes:
        code: response code.
        remark: response text.
    """

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


@lru_cache(maxsize=4096)
def tags_code(tags: str) -> int:
    """Returns the code under which a message's tags stand in the consume queue."""
    return java_string_hash(tags)


def property_of(properties: str, name: str) -> str | None:
    """Returns one property of property text, without parsing the rest."""
    wanted = name + NV
    for item in properties.split(SEP):
        if item.startswith(wanted):
            return item[len(wanted) :]
    return None


def put(broker: Broker, message: Incoming) -> Appended:
    """Stores a message, through the schedule topic if it has a delay level, through the timer topic if it has a time.

    Raises:
        Refusal: a time that is none, too far away, or without a timer wheel (5.x).
        DiskFullError, MessageRefused, StorageError: nothing was stored.
    """
    topic, queue_id, properties = message.topic, message.queue_id, message.properties
    if _DELAY in properties and message.sys_flag & TRANSACTION_BITS in (0, _COMMITTED):
        level = _level(properties)
        if level > 0:
            level = min(level, broker.max_delay_level)
            if _TIMER in properties and broker.release.is_v5:
                properties = _without_timers(properties)
            properties = with_properties(
                properties, {"DELAY": str(level), "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
            )
            topic, queue_id = SCHEDULE_TOPIC, level - 1
    if _TIMER in properties and broker.release.is_v5 and topic not in (SCHEDULE_TOPIC, HALF_TOPIC, TIMER_TOPIC):
        out_ms = _timer_ms(broker, properties)
        if out_ms is not None:
            properties = with_properties(
                properties, {_TIMER_OUT_MS: str(out_ms), "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
            )
            topic, queue_id, message.timer_out_ms = TIMER_TOPIC, 0, out_ms
    appended = broker.storage.append(
        topic,
        queue_id,
        body=message.body,
        properties=_as_stored(broker, properties),
        tags_code=_tags_code(properties),
        sys_flag=message.sys_flag,
        flag=message.flag,
        born_ms=message.born_ms,
        born_host=message.born_host,
        store_host=broker.address,
        reconsume_times=message.reconsume_times,
        prepared_offset=message.prepared_offset,
    )
    broker.stats.count_put(topic, 1, appended.size_bytes)
    return appended


def _without_timers(properties: str) -> str:
    """A delay level wins over a time; what asked for the time is taken away."""
    for name in _TIMER_PROPERTIES:
        properties = without_property(properties, name)
    return properties


def _timer_ms(broker: Broker, properties: str) -> int | None:
    """Returns the TIMER_OUT_MS of a message that is to wait (`HookUtils.transformTimerMessage` of 5.3.3), else None.

    It is a unit of the wheel before the moment asked for, at most: a slot is emptied when its time has passed.
    """
    named = ((name, property_of(properties, name)) for name in _TIMER_PROPERTIES)
    asked = next(((name, text) for name, text in named if text is not None), None)
    if asked is None or property_of(properties, _TIMER_OUT_MS) is not None:
        return None
    if broker.timers is None:
        raise Refusal(ResponseCode.SYSTEM_ERROR, "accurate timer message is not enabled, timerWheelEnable is false")
    name, text = asked
    now_ms, settings = broker.clock.now_ms(), broker.settings
    illegal = Refusal(
        ResponseCode.MESSAGE_ILLEGAL,
        "timer message illegal, the delay time should not be bigger than the max delay "
        f"{settings.timer_max_delay_sec * 1000}ms; or if set del msg, the delay time should be bigger than the "
        "current time",
    )
    if not text.isascii() or not text.lstrip("-").isdigit():
        raise illegal
    deliver_ms = int(text) if name == "TIMER_DELIVER_MS" else now_ms + int(text) * _TIMER_UNITS_MS[name]
    if deliver_ms <= now_ms:
        if property_of(properties, "TIMER_DEL_UNIQKEY") is not None:
            raise illegal
        return None
    if deliver_ms - now_ms > settings.timer_max_delay_sec * 1000:
        raise illegal
    return (deliver_ms - 1) // settings.timer_precision_ms * settings.timer_precision_ms


def put_batch(broker: Broker, messages: Sequence[Incoming]) -> list[Appended]:
    """Stores messages of one topic and queue, all or none.

    Raises:
        DiskFullError, MessageRefused, StorageError: nothing was stored.
    """
    first = messages[0]
    storage = broker.storage
    drafts = [
        storage.draft(
            message.topic,
            message.queue_id,
            body=message.body,
            properties=_as_stored(broker, message.properties),
            sys_flag=message.sys_flag,
            flag=message.flag,
            born_ms=message.born_ms,
            born_host=message.born_host,
            store_host=broker.address,
            reconsume_times=message.reconsume_times,
        )
        for message in messages
    ]
    codes = [_tags_code(message.properties) for message in messages]
    appended = storage.append_drafts(first.topic, first.queue_id, drafts, codes)
    broker.stats.count_put(first.topic, len(appended), sum([one.size_bytes for one in appended]))
    return appended


def _as_stored(broker: Broker, properties: str) -> str:
    return properties + SEP if broker.release.is_v5 and properties else properties  # 5.x ends the text, 4.9 does not


def _tags_code(properties: str) -> int:
    return tags_code(property_of(properties, "TAGS") or "") if _TAGS in properties else 0


def _level(properties: str) -> int:
    try:
        return int(property_of(properties, "DELAY") or "0")
    except ValueError:
        return 0


def with_properties(properties: str, changes: Mapping[str, str]) -> str:
    """Returns property text with some properties set."""
    kept = [item for item in properties.split(SEP) if item and item.partition(NV)[0] not in changes]
    return SEP.join([*kept, *[f"{name}{NV}{value}" for name, value in changes.items()]])


def joined_properties(first: str, second: str) -> str:
    """Returns two property texts as one; where both have a name, readers take the second's value."""
    return SEP.join([text for text in (first.rstrip(SEP), second) if text])


def without_property(properties: str, name: str) -> str:
    """Returns property text without one property."""
    start = name + NV
    return SEP.join([item for item in properties.split(SEP) if item and not item.startswith(start)])


def v5_properties(properties: str, own: Mapping[str, str], unique_id: Callable[[], str]) -> str:
    """Returns the properties of a send as 5.x stores them: WAIT stays, region, tracing and cluster are added.

    A message without unique id gets one. Source: `AbstractSendMessageProcessor.buildMsgContext` of 5.3.3.

    Args:
        own: what is added.
        unique_id: makes an id.
    """
    if _POP_CK in properties:
        properties = without_property(properties, "POP_CK")
    added = dict(own)
    if f"UNIQ_KEY{NV}" not in properties or not property_of(properties, "UNIQ_KEY"):
        added["UNIQ_KEY"] = unique_id()
    if any(f"{name}{NV}" in properties for name in added):
        return with_properties(properties, added)
    text = SEP.join([f"{name}{NV}{value}" for name, value in added.items()])
    return f"{properties.rstrip(SEP)}{SEP}{text}" if properties else text


def stored_properties(properties: str, cluster: str) -> str:
    """Returns the properties of a send as 4.9 stores them: WAIT dropped, the cluster's name added."""
    own = _CLUSTER + cluster
    if not properties:
        return own
    if _WAIT in properties or _CLUSTER in properties or properties[-1] == SEP:
        kept = [item for item in properties.split(SEP) if item and not item.startswith((_WAIT, _CLUSTER))]
        kept.append(own)
        return SEP.join(kept)
    return f"{properties}{SEP}{own}"
