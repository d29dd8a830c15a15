"""The topic table of a broker: built-in topics, auto-creation, persistence (`TopicConfigManager` of 4.9.8)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from embedded_broker.clock import Clock
from embedded_broker.release import Release
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.persistence import ConfigFile, stored_version
from mqctl.errors import RefusedError, StorageError
from mqctl.model import names
from mqctl.model.config import MOST_QUEUES, PERM_INHERIT, DataVersion, TopicConfig
from mqctl.model.delay_level import DelayLevelTable
from mqctl.protocol.bodies_cluster import TopicConfigTable
from mqctl.store.config_files import TOPICS, read_config, topic_configs
from mqctl.store.record_writer import is_name

log = logging.getLogger("embedded_broker")

_READ_WRITE = 6
_UNIT, _UNIT_SUB = 1, 2
_HEARTBEATS = "DefaultHeartBeatSyncerTopic"
_SYSTEM = (
    *(names.AUTO_CREATE_TOPIC, names.SCHEDULE_TOPIC, "BenchmarkTest", names.HALF_TOPIC, "RMQ_SYS_TRACE_TOPIC"),
    *(names.OP_TOPIC, names.DISCARD_TOPIC, "SELF_TEST_TOPIC", names.OFFSET_MOVED_TOPIC),
)
"""What is a system topic whether it is there or not (`TopicValidator`)."""
_SCHEDULE_QUEUES = 18

OnChange = Callable[[Iterable[TopicConfig]], None]


class TopicTable:
    """Topics of one broker.

    Attributes:
        version: counts the changes of the table.
        configs: settings by topic name; to be read only.
        system: topics that nobody may create or delete.
        ordered: topics with an order configuration, when a name server last told; a real broker registers a topic, and
            hears of that, before it answers whoever put it.
    """

    def __init__(self, settings: BrokerSettings, release: Release, clock: Clock, directory: Path) -> None:
        self._settings = settings
        self._release = release
        self._clock = clock
        self._listeners: list[OnChange] = []
        self.configs: dict[str, TopicConfig] = {}
        self.version = self._mapping_version = DataVersion(0, clock.now_ms())
        self.system: set[str] = set()
        self.ordered: frozenset[str] = frozenset()
        self._add_built_in()
        self._load(directory)
        self.file = ConfigFile(directory, TOPICS, clock, self._document, lambda: len(self.configs))

    def _add_built_in(self) -> None:
        settings = self._settings
        levels = max(_SCHEDULE_QUEUES, DelayLevelTable.parse(settings.message_delay_level).max_level)
        built_in = [("SELF_TEST_TOPIC", 1, 6), ("BenchmarkTest", 1024, 6)]
        if settings.auto_create_topic_enable:
            built_in.append((names.AUTO_CREATE_TOPIC, settings.default_topic_queue_nums, 7))
        built_in += [
            (settings.broker_cluster_name, 16, 7 if settings.cluster_topic_enable else 1),
            (settings.broker_name, 1, 7 if settings.broker_topic_enable else 1),
            (names.OFFSET_MOVED_TOPIC, 1, 6),
            (names.SCHEDULE_TOPIC, levels, 6),
            (f"{settings.broker_cluster_name}{names.REPLY_TOPIC_SUFFIX}", 1, 6),
        ]
        if settings.trace_topic_enable:
            built_in.append((settings.msg_trace_topic_name, 1, 6))
        if self._release.is_v5:
            built_in += [(name, 1, 6) for name in (names.HALF_TOPIC, names.OP_TOPIC, names.DISCARD_TOPIC)]
            built_in += [
                (names.TIMER_TOPIC, 1, 6),
                (_HEARTBEATS, 1, 6),
                (f"rmq_sys_REVIVE_LOG_{settings.broker_cluster_name}", 8, 6),
                (f"rmq_sys_SYNC_BROKER_MEMBER_{settings.broker_name}", 1, 1),
            ]
        self.system = {*_SYSTEM, *(("CHECKPOINT_TOPIC",) if self._release.is_v5 else ())}
        for name, queues, perm in built_in:
            if name != _HEARTBEATS:
                self.system.add(name)
            self.configs[name] = TopicConfig(name=name, read_queue_count=queues, write_queue_count=queues, perm=perm)

    def _load(self, directory: Path) -> None:
        file = read_config(directory, TOPICS)
        for config in topic_configs(file):
            if is_name(config.name):
                self.configs[config.name] = config
            else:
                log.warning("topic %r of %s is left out: it can name no directory", config.name, TOPICS)
        self.version = stored_version(file) or self.version

    def _document(self) -> object:
        return self.table().to_json(is_v5=self._release.is_v5)

    def table(self) -> TopicConfigTable:
        """Returns the whole table, as the file has it."""
        return TopicConfigTable(data_version=self.version, topic_config_table=self.configs)

    def sent(self, configs: Iterable[TopicConfig]) -> TopicConfigTable:
        """Returns topics as brokers send them: 5.x adds the mappings of static topics, of which there are none."""
        named = {config.name: config for config in configs}
        if not self._release.is_v5:
            return TopicConfigTable(data_version=self.version, topic_config_table=named)
        return TopicConfigTable(
            data_version=self.version,
            mapping_data_version=self._mapping_version,
            topic_config_table=named,
            topic_queue_mapping_detail_map={},
            topic_queue_mapping_info_map={},
        )

    def on_change(self, listener: OnChange) -> None:
        """Has `listener` called with the topics that were created or changed."""
        self._listeners.append(listener)

    def find(self, name: str) -> TopicConfig | None:
        """Returns the topic, or None.

        With `enableLmq` every light queue is one that is there (`LmqTopicConfigManager`).
        """
        known = self.configs.get(name)
        if known is None and self._settings.enable_lmq and name.startswith(names.LMQ_PREFIX):
            return TopicConfig(name=name, read_queue_count=1, write_queue_count=1, perm=6)
        return known

    def put(self, config: TopicConfig) -> TopicConfig:
        """Creates or replaces a topic, persists the table and tells the name servers.

        Raises:
            StorageError: with SYNC_FLUSH, it is not on the disk; nothing has changed.
            RefusedError: its name can name no directory, or it has more queues than anybody can mean; a real broker
                would try.
        """
        if not is_name(config.name):
            reason = "the name is no name for the directory of its queues"
            raise RefusedError(f"topic {config.name!r} not created", reason=reason)
        if max(config.read_queue_count, config.write_queue_count) > MOST_QUEUES:
            wanted = f"{config.read_queue_count} queues to read and {config.write_queue_count} to write"
            raise RefusedError(f"topic {config.name} not created", reason=f"{wanted}, at most {MOST_QUEUES} are taken")
        self._replace(config.name, config)
        for listener in self._listeners:
            listener([config])
        return config

    def delete(self, name: str) -> bool:
        """Deletes a topic's settings; returns whether there were any.

        Raises:
            StorageError: with SYNC_FLUSH, that is not on the disk; nothing has changed.
        """
        if name not in self.configs:
            log.warning("delete topic %s: no such topic", name)
            return False
        # An empty registration would only tell name servers the new version, and they would ignore the next whole one.
        self._replace(name, None)
        return True

    def _replace(self, name: str, config: TopicConfig | None) -> None:
        before, version = self.configs.get(name), self.version
        _set(self.configs, name, config)
        self.version = DataVersion(version.counter + 1, self._clock.now_ms())
        try:
            self.file.changed()
        except StorageError:
            _set(self.configs, name, before)
            self.version = version
            raise

    def replace_all(self, configs: Mapping[str, TopicConfig], version: DataVersion) -> None:
        """Takes another broker's table, whole."""
        self.configs = {name: config for name, config in configs.items() if is_name(name)}
        self.version = version
        self.file.mark()
        self.file.write()

    def touch(self) -> None:
        """Raises the version without a change of a topic, so that a registration counts as new."""
        self.version = DataVersion(self.version.counter + 1, self._clock.now_ms())
        self.file.mark()
        self.file.write()

    def update_orders(self, orders: Mapping[str, str]) -> None:
        """Takes the order topics from a name server's answer (`updateOrderTopicConfig`); 5.x takes none back."""
        changed = False
        self.ordered = frozenset(orders)
        for name, config in self.configs.items():
            if (name in orders) != config.order and not (self._release.is_v5 and config.order):
                self.configs[name] = replace(config, order=name in orders)
                changed = True
        if changed:
            self.touch()

    def create_from_template(
        self, name: str, template_name: str, wanted_queues: int, sys_flag: int
    ) -> TopicConfig | None:
        """Creates a topic at its first send, if the template lets it inherit.

        Args:
            wanted_queues: what the client asks for; the template's write queues are the limit.
        """
        template = self.configs.get(template_name)
        if template is None:
            return None
        perm = template.perm
        if template_name == names.AUTO_CREATE_TOPIC and not self._settings.auto_create_topic_enable:
            perm = _READ_WRITE
        if not perm & PERM_INHERIT:
            return None
        queues = max(0, min(wanted_queues, template.write_queue_count))
        log.info("topic %s created from %s with %d queues", name, template_name, queues)
        return self.put(
            TopicConfig(
                name=name,
                read_queue_count=queues,
                write_queue_count=queues,
                perm=perm & ~PERM_INHERIT,
                filter_type=template.filter_type,
                sys_flag=sys_flag,
            )
        )

    def find_or_create(self, name: str, queues: int, *, perm: int = _READ_WRITE, sys_flag: int = 0) -> TopicConfig:
        """Returns the topic, created with these settings if it is missing (retry and dead-letter topics)."""
        config = self.configs.get(name)
        if config is not None:
            return config
        return self.put(
            TopicConfig(name=name, read_queue_count=queues, write_queue_count=queues, perm=perm, sys_flag=sys_flag)
        )


def _set(configs: dict[str, TopicConfig], name: str, config: TopicConfig | None) -> None:
    if config is None:
        configs.pop(name, None)
    else:
        configs[name] = config


def unit_flags(*, unit: bool, retry: bool) -> int:
    """Returns the topic system flag of a client in unit mode."""
    if not unit:
        return 0
    return _UNIT_SUB if retry else _UNIT
