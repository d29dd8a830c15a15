"""SQL92 subscriptions that a broker serves: compiled at heartbeats, kept in `config/consumerFilter.json`.

Source: `ConsumerFilterManager` and `ExpressionMessageFilter` of 4.9.8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from embedded_broker.clock import Clock, Periodic
from embedded_broker.release import Release
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.persistence import ConfigFile
from mqctl.filter.bloom import BloomShape, element, holds_all
from mqctl.filter.sql import SqlFilter, SqlSyntaxError, compile_sql
from mqctl.model.names import RETRY_PREFIX
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.properties import parse_properties
from mqctl.store.config_files import CONSUMER_FILTERS, read_config
from mqctl.store.ext_queue import ExtUnit
from mqctl.store.record_writer import read_record

log = logging.getLogger("embedded_broker")

TAG, SQL92 = "TAG", "SQL92"
_PERSIST_MS = 10_000
_DEAD_AFTER_START_MS = 30_000
WantsRecord = Callable[[memoryview], bool]


@lru_cache(maxsize=100)
def compiled(expression: str, *, is_v5: bool) -> SqlFilter:
    """Compiles an expression, or remembers that it did. Raises SqlSyntaxError."""
    return compile_sql(expression, is_v5=is_v5)


@dataclass(slots=True, kw_only=True)
class FilterData:
    """The SQL92 subscription of one group to one topic.

    Attributes:
        client_version: the subscription's version, by which members of a group with different ones are told apart.
        born_ms: when this expression was registered.
        dead_ms: since when nobody subscribes by it; 0 while somebody does.
    """

    group: str
    topic: str
    expression: str
    client_version: int
    born_ms: int
    dead_ms: int = 0
    positions: tuple[int, ...] = ()
    sql: SqlFilter

    shape: BloomShape

    def wants(self, record: memoryview) -> bool:
        """Tells whether a stored message matches."""
        return matches(self.sql, record)

    def may_want(self, unit: ExtUnit) -> bool:
        """Tells by the bit map beside a queue entry whether the message can match: it has false hits, and no misses.

        A message stored before the subscription was made, or with a map of another shape, has to be looked at.
        """
        if unit.store_ms <= self.born_ms or len(unit.bitmap) != self.shape.byte_count:
            return True
        return holds_all(unit.bitmap, self.positions)


def matches(sql: SqlFilter, record: memoryview) -> bool:
    """Tells whether a stored message matches an expression; bytes that are no message match none."""
    parsed = read_record(record, 0, len(record), check_crc=False)
    return parsed is not None and sql.matches(parse_properties(parsed.properties))


class SqlFilters:
    """All SQL92 subscriptions of one broker.

    Attributes:
        shape: of the bit maps that the file describes.
        file: `consumerFilter.json`.
    """

    def __init__(self, settings: BrokerSettings, release: Release, clock: Clock, directory: Path) -> None:
        self._settings = settings
        self._release = release
        self._clock = clock
        self._topics: dict[str, dict[str, FilterData]] = {}
        self.shape = BloomShape.of(settings.max_error_rate_of_bloom_filter, settings.expect_consumer_num_use_filter)
        self._load(directory)
        self.file = ConfigFile(directory, CONSUMER_FILTERS, clock, self._document, lambda: len(self._topics))
        self._persist = Periodic(clock, _PERSIST_MS, self._clean_and_write, first_ms=_PERSIST_MS)

    def stop(self) -> None:
        """Ends the periodic writing."""
        self._persist.cancel()

    def get(self, topic: str, group: str) -> FilterData | None:
        """Returns what a group registered for a topic, be it dead or alive."""
        return self._topics.get(topic, {}).get(group)

    # Registration

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Takes the subscriptions of a heartbeat; what the group no longer subscribes to is dead from now on."""
        wanted = tuple(subscriptions)
        for subscription in wanted:
            if subscription.expression_type == SQL92 and subscription.sub_string:
                self._register(group, subscription)
        topics = {subscription.topic for subscription in wanted}
        self._bury(data for data in self._of_group(group) if data.topic not in topics)

    def unregister(self, group: str) -> None:
        """Notes that a group has no member any more."""
        self._bury(self._of_group(group))

    def _of_group(self, group: str) -> Iterator[FilterData]:
        return (groups[group] for groups in self._topics.values() if group in groups)

    def _bury(self, buried: Iterable[FilterData]) -> None:
        for data in buried:
            if not data.dead_ms:
                data.dead_ms = self._clock.now_ms()
                self.file.mark()

    def _register(self, group: str, subscription: SubscriptionData) -> None:
        groups = self._topics.setdefault(subscription.topic, {})
        known, version = groups.get(group), subscription.sub_version
        if known is not None and version <= known.client_version:
            if known.expression != subscription.sub_string:
                log.warning("group %s: %r of an older member is ignored", group, subscription.sub_string)
            if version == known.client_version and known.dead_ms:
                known.dead_ms = 0
                self.file.mark()
            return
        if known is not None and known.expression == subscription.sub_string:
            known.client_version, known.dead_ms = version, 0
        else:
            fresh = self._built(group, subscription)
            if fresh is not None:
                groups[group] = fresh
            elif known is not None:
                del groups[group]
        self.file.mark()

    def _built(self, group: str, subscription: SubscriptionData) -> FilterData | None:
        try:
            sql = compiled(subscription.sub_string, is_v5=self._release.is_v5)
        except SqlSyntaxError as error:
            log.error("group %s, topic %s: %s", group, subscription.topic, error)
            return None
        return FilterData(
            group=group,
            topic=subscription.topic,
            expression=subscription.sub_string,
            client_version=subscription.sub_version,
            born_ms=self._clock.now_ms(),
            positions=self.shape.positions(element(group, subscription.topic)),
            sql=sql,
            shape=self.shape,
        )

    # Filtering

    def bit_map(self, topic: str, properties: str) -> bytes:
        """Returns the bit map of a message of `topic`: which subscriptions match it; empty when there are none.

        Source: `CommitLogDispatcherCalcBitMap` of 4.9.8.
        """
        groups = self._topics.get(topic)
        if not groups:
            return b""
        parsed = parse_properties(properties)
        bits = bytearray(self.shape.byte_count)
        for data in groups.values():
            if data.sql.matches(parsed):
                for position in data.positions:
                    bits[position >> 3] |= 1 << (position & 7)
        return bytes(bits)

    def compile(self, expression: str) -> SqlFilter:
        """Compiles the expression that a pull brings along. Raises SqlSyntaxError."""
        return compiled(expression, is_v5=self._release.is_v5)

    def wants_retry(self, group: str) -> WantsRecord | None:
        """Returns the test of retried messages, each by the filter of the topic it came from; None to pass them all.

        Brokers filter them only with `filterSupportRetry`.
        """
        if not self._settings.filter_support_retry or not any(True for _ in self._of_group(group)):
            return None

        def wants(record: memoryview) -> bool:
            parsed = read_record(record, 0, len(record), check_crc=False)
            properties = parse_properties(parsed.properties) if parsed is not None else {}
            data = self.get(properties.get("RETRY_TOPIC", ""), group)
            return data is None or data.sql.matches(properties)

        return wants

    # The file

    def _clean_and_write(self) -> None:
        before_ms = self._clock.now_ms() - self._settings.filter_data_clean_time_span
        for topic, groups in list(self._topics.items()):
            for group in [name for name, data in groups.items() if 0 < data.dead_ms <= before_ms]:
                del groups[group]
                self.file.mark()
            if not groups:
                del self._topics[topic]
        self.file.write()

    def _document(self) -> object:
        return {
            "filterDataByTopic": {
                topic: {
                    "groupFilterData": {group: self._entry(data) for group, data in sorted(groups.items())},
                    "topic": topic,
                }
                for topic, groups in sorted(self._topics.items())
            }
        }

    def _entry(self, data: FilterData) -> object:
        return {
            "bloomFilterData": {"bitNum": self.shape.bit_count, "bitPos": data.positions},
            "bornTime": data.born_ms,
            "clientVersion": data.client_version,
            "consumerGroup": data.group,
            "dead": data.dead_ms >= data.born_ms,
            "deadTime": data.dead_ms,
            "expression": data.expression,
            "expressionType": SQL92,
            "topic": data.topic,
        }

    def _load(self, directory: Path) -> None:
        """Reads the file. One entry with another shape of bit maps makes the broker ignore all of it."""
        entries = list(_entries(read_config(directory, CONSUMER_FILTERS).value))
        shape = (self.shape.bit_count, self.shape.hash_count)
        if any(_shape(entry) not in (None, shape) for entry in entries):
            log.warning("%s holds bit maps of another shape and is ignored", CONSUMER_FILTERS)
            return
        for entry in entries:
            data = self._restored(entry)
            if data is None:
                log.warning("%s: an entry cannot be used: %r", CONSUMER_FILTERS, entry)
            else:
                self._topics.setdefault(data.topic, {})[data.group] = data

    def _restored(self, entry: dict[str, object]) -> FilterData | None:
        group, topic, expression = (entry.get(name) for name in ("consumerGroup", "topic", "expression"))
        born, dead, version = (entry.get(name) for name in ("bornTime", "deadTime", "clientVersion"))
        if not (isinstance(group, str) and isinstance(topic, str) and isinstance(expression, str)):
            return None
        if not (isinstance(born, int) and isinstance(dead, int) and isinstance(version, int)):
            return None
        try:
            sql = compiled(expression, is_v5=self._release.is_v5)
        except SqlSyntaxError:
            return None
        return FilterData(
            group=group,
            topic=topic,
            expression=expression,
            client_version=version,
            born_ms=born,
            dead_ms=dead or max(born, self._clock.now_ms() - _DEAD_AFTER_START_MS),
            positions=self.shape.positions(element(group, topic)),
            sql=sql,
            shape=self.shape,
        )


def _entries(document: dict[str, object]) -> Iterator[dict[str, object]]:
    topics = document.get("filterDataByTopic")
    for item in topics.values() if isinstance(topics, dict) else ():
        groups = item.get("groupFilterData") if isinstance(item, dict) else None
        for entry in groups.values() if isinstance(groups, dict) else ():
            if isinstance(entry, dict):
                yield entry


def _shape(entry: dict[str, object]) -> tuple[object, int] | None:
    """Returns bits and positions of an entry's bit map; None when it says nothing of one."""
    data = entry.get("bloomFilterData")
    if not isinstance(data, dict):
        return None
    positions = data.get("bitPos")
    return data.get("bitNum"), len(positions) if isinstance(positions, list | tuple) else 0


def is_retry(topic: str) -> bool:
    """Tells whether a topic holds retried messages."""
    return topic.startswith(RETRY_PREFIX)
