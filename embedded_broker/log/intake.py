"""Messages on their way into the store: the one path that every new message takes.

What the broker changes on the way (`SendMessageProcessor`, `CommitLog.asyncPutMessage` of 4.9.8): the cluster's name is
added to the properties, WAIT is dropped (5.x keeps it), a delay level sends the message through the schedule topic, a
time of its own through the timer topic (`HookUtils` of 5.3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from embedded_broker.clock import Clock
from embedded_broker.delay.hanging import Moment, moment_of
from embedded_broker.log.store import Appended, Storage
from embedded_broker.release import Release
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.settings import BrokerSettings
from embedded_broker.stats import Stats
from mqctl.errors import StorageError
from mqctl.model.names import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import pack_host
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR as NV
from mqctl.protocol.properties import PROPERTY_SEPARATOR as SEP
from mqctl.protocol.properties import property_of, with_properties, without_property
from mqctl.store.record_writer import Incoming

__all__ = ["Incoming", "Intake", "stored_properties", "v5_properties"]

_WAIT, _CLUSTER, _DELAY, _POP_CK = f"WAIT{NV}", f"CLUSTER{NV}", f"DELAY{NV}", f"POP_CK{NV}"
_TIMER = "TIMER_DEL"  # begins TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS
_TIMER_PROPERTIES = ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS")
_TIMER_UNITS_MS = {"TIMER_DELAY_SEC": 1_000, "TIMER_DELAY_MS": 1}
_TIMER_OUT_MS = "TIMER_OUT_MS"
_HUNG_KEPT = 8_192
TRANSACTION_BITS = 0xC
_COMMITTED = 0x8
MULTI_TAGS = 0x2
"""System flag of messages of a topic whose filter type is MULTI_TAG."""


class Intake:
    """Takes messages into the store of one broker; timers, transactions and handlers store through it.

    Attributes:
        storage, clock, settings, release, stats: what it was made of, for those who store through it.
        store_host: `ip:port` that records name as the broker's.
    """

    def __init__(
        self, storage: Storage, clock: Clock, settings: BrokerSettings, release: Release, stats: Stats
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.settings = settings
        self.release = release
        self.stats = stats
        self.store_host = ""
        self._offset_id_host = ""
        self._levels = storage.dispatcher.levels
        self._has_wheel = release.is_v5 and settings.timer_wheel_enable
        self._hung: dict[int, Moment] = {}

    def store_as(self, address: str) -> None:
        """Has records name `address`, `ip:port`, as their broker from now on."""
        self.store_host = address
        self._offset_id_host = pack_host(address).hex().upper()

    def offset_id(self, physical_offset: int) -> str:
        """Returns the id of a stored message: store host and physical offset in hexadecimal."""
        return f"{self._offset_id_host}{physical_offset:016X}"

    def put(self, message: Incoming) -> Appended:
        """Stores a message; one with a delay level or a time of its own through the topic where it waits.

        The message becomes what is stored: topic, queue and properties say where it waits.

        Raises:
            Refusal: a time that is none, too far away, or without a timer wheel (5.x).
            DiskFullError, MessageRefused, StorageError: nothing was stored.
        """
        if _DELAY in message.properties and message.sys_flag & TRANSACTION_BITS in (0, _COMMITTED):
            self._delay(message)
        if self.release.is_v5:
            if _TIMER in message.properties and message.topic not in (SCHEDULE_TOPIC, HALF_TOPIC, TIMER_TOPIC):
                self._hang(message)
            self._end(message)
        return self.put_ready(message)

    def put_ready(self, message: Incoming, moment: Moment | None = None) -> Appended:
        """Stores a message of the broker's own that is as it is to be stored already.

        Args:
            moment: what its properties say when it is one for the timer topic, if that is known.

        Raises:
            DiskFullError, MessageRefused, StorageError: nothing was stored.
        """
        message.store_host = self.store_host
        started_ms = self.clock.now_ms()
        try:
            appended = self.storage.append(message)
        except StorageError:
            self.stats.put_failed += 1
            raise
        self.stats.time_put(self.clock.now_ms() - started_ms)
        self.stats.count_put(message.topic, 1, appended.size_bytes)
        if message.topic == TIMER_TOPIC and len(self._hung) < _HUNG_KEPT:
            self._hung[appended.physical_offset] = moment or moment_of(message.properties)
        return appended

    def taken_moment(self, physical_offset: int) -> Moment | None:
        """Returns, once, what a message says that was just stored in the timer topic; None of any other."""
        return self._hung.pop(physical_offset, None)

    def forget_hung(self) -> None:
        """Forgets what was stored in the timer topic: the log may be another one by now."""
        self._hung.clear()

    def put_batch(self, messages: Sequence[Incoming]) -> list[Appended]:
        """Stores messages of one topic and queue, all or none.

        Raises:
            DiskFullError, MessageRefused, StorageError: nothing was stored.
        """
        for message in messages:
            message.store_host = self.store_host
            if self.release.is_v5:
                self._end(message)
        started_ms = self.clock.now_ms()
        try:
            appended = self.storage.append_batch(messages)
        except StorageError:
            self.stats.put_failed += 1
            raise
        self.stats.time_put(self.clock.now_ms() - started_ms)
        self.stats.count_put(messages[0].topic, len(appended), sum([one.size_bytes for one in appended]))
        return appended

    @staticmethod
    def _end(message: Incoming) -> None:
        """5.x ends the property text with a separator, 4.9 does not."""
        if message.properties and message.properties[-1] != SEP:
            message.properties += SEP

    def _delay(self, message: Incoming) -> None:
        """Sends a message with a delay level through the schedule topic; a level wins over a time."""
        properties = message.properties
        level = _level(properties)
        if level <= 0:
            return
        level = min(level, self._levels.max_level)
        if _TIMER in properties and self.release.is_v5:
            for name in _TIMER_PROPERTIES:
                properties = without_property(properties, name)
        message.properties = with_properties(properties, {"DELAY": str(level), **_real(message)})
        message.topic, message.queue_id = SCHEDULE_TOPIC, level - 1

    def _hang(self, message: Incoming) -> None:
        """Sends a message with a time that is still to come through the timer topic."""
        out_ms = self._timer_ms(message.properties)
        if out_ms is not None:
            changes = {_TIMER_OUT_MS: str(out_ms), **_real(message)}
            message.properties = with_properties(message.properties, changes)
            message.topic, message.queue_id = TIMER_TOPIC, 0

    def _timer_ms(self, properties: str) -> int | None:
        """Returns the TIMER_OUT_MS of a message that is to wait (`HookUtils.transformTimerMessage`), else None.

        It is a unit of the wheel before the moment asked for, at most: a slot is emptied when its time has passed.
        """
        for name in _TIMER_PROPERTIES:
            text = property_of(properties, name)
            if text is not None:
                break
        else:
            return None
        if property_of(properties, _TIMER_OUT_MS) is not None:
            return None
        if not self._has_wheel:
            raise self._no_wheel()
        number = decimal(text, -MOST_INT64)
        if number is None:
            raise self._illegal_time()
        now_ms = self.clock.now_ms()
        deliver_ms = number if name == "TIMER_DELIVER_MS" else now_ms + number * _TIMER_UNITS_MS[name]
        out_ms = self.out_ms(deliver_ms, now_ms)
        if out_ms is None and property_of(properties, "TIMER_DEL_UNIQKEY") is not None:
            raise self._illegal_time()
        return out_ms

    def out_ms(self, deliver_ms: int, now_ms: int) -> int | None:
        """Returns the TIMER_OUT_MS of what is to be delivered then; None when that moment has come.

        Raises:
            Refusal: there is no timer wheel, or it does not reach that far.
        """
        if not self._has_wheel:
            raise self._no_wheel()
        left_ms, settings = deliver_ms - now_ms, self.settings
        if left_ms <= 0:
            return None
        if left_ms > settings.timer_max_delay_sec * 1000:
            raise self._illegal_time()
        return (deliver_ms - 1) // settings.timer_precision_ms * settings.timer_precision_ms

    @staticmethod
    def _no_wheel() -> Refusal:
        remark = "accurate timer message is not enabled, timerWheelEnable is false"
        return Refusal(ResponseCode.SYSTEM_ERROR, remark)

    def _illegal_time(self) -> Refusal:
        remark = (
            "timer message illegal, the delay time should not be bigger than the max delay "
            f"{self.settings.timer_max_delay_sec * 1000}ms; or if set del msg, the delay time should be bigger than "
            "the current time"
        )
        return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)


def _real(message: Incoming) -> dict[str, str]:
    """Returns the properties that say where a message belongs which waits elsewhere."""
    return {"REAL_TOPIC": message.topic, "REAL_QID": str(message.queue_id)}


def _level(properties: str) -> int:
    return decimal(property_of(properties, "DELAY")) or 0


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
