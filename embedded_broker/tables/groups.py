"""The consumer group table of a broker (`SubscriptionGroupManager` of 4.9.8)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path

from embedded_broker.clock import Clock
from embedded_broker.release import Release
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.persistence import ConfigFile, stored_version
from mqctl.errors import StorageError
from mqctl.model.config import DataVersion, SubscriptionGroupConfig
from mqctl.model.names import LMQ_PREFIX, SYSTEM_GROUP_PREFIX, TRANSACTION_GROUP
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable
from mqctl.store.config_files import GROUPS, group_configs, read_config

log = logging.getLogger("embedded_broker")

_LONGEST = 255
_NAME = re.compile(r"[%|a-zA-Z0-9_-]*\Z")
_BUILT_IN = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)


class GroupTable:
    """Consumer groups of one broker.

    Attributes:
        version: counts the changes of the table.
        configs: settings by group name; to be read only.
        cold_read_limits: bytes by group (5.x); in memory only.
    """

    def __init__(self, settings: BrokerSettings, release: Release, clock: Clock, directory: Path) -> None:
        self._settings = settings
        self._release = release
        self._clock = clock
        built_in = (*_BUILT_IN, TRANSACTION_GROUP) if release.is_v5 else _BUILT_IN
        self.configs = {name: SubscriptionGroupConfig(name=name) for name in built_in}
        self.cold_read_limits: dict[str, int] = {}
        self.version = DataVersion(0, clock.now_ms())
        file = read_config(directory, GROUPS)
        for config in group_configs(file):
            self.configs[config.name] = config
        self.version = stored_version(file) or self.version
        self.file = ConfigFile(directory, GROUPS, clock, self._document, lambda: len(self.configs))

    def _document(self) -> object:
        return self.table().to_json(is_v5=self._release.is_v5)

    def table(self) -> SubscriptionGroupTable:
        """Returns the whole table, as code 201 answers it; with the topics that groups may not read in 5.x."""
        forbidden = {name: config.forbidden for name, config in self.configs.items() if config.forbidden}
        return SubscriptionGroupTable(
            data_version=self.version,
            forbidden_table=forbidden if self._release.is_v5 else None,
            subscription_group_table=self.configs,
        )

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Returns the group, or None.

        With `enableLmq` every group of that prefix is one that is there (`LmqSubscriptionGroupManager`).
        """
        known = self.configs.get(name)
        if known is None and self._settings.enable_lmq and name.startswith(LMQ_PREFIX):
            return SubscriptionGroupConfig(name=name)
        return known

    def find_or_create(self, name: str) -> SubscriptionGroupConfig | None:
        """Returns the group, created with default settings where the broker does that; None where it does not."""
        config = self.find(name)
        if config is not None:
            return config
        if self._release.is_v5 and (len(name) > _LONGEST or not _NAME.match(name)):
            return None
        if not (self._settings.auto_create_subscription_group or name.startswith(SYSTEM_GROUP_PREFIX)):
            return None
        log.info("consumer group %s created", name)
        return self.put(SubscriptionGroupConfig(name=name))

    def put(self, config: SubscriptionGroupConfig) -> SubscriptionGroupConfig:
        """Creates or replaces a group and persists the table.

        Raises:
            StorageError: with SYNC_FLUSH, it is not on the disk; nothing has changed.
        """
        self._replace(config.name, config)
        return config

    def delete(self, name: str) -> bool:
        """Deletes a group's settings; returns whether there were any.

        Raises:
            StorageError: with SYNC_FLUSH, that is not on the disk; nothing has changed.
        """
        if name not in self.configs:
            log.warning("delete group %s: no such group", name)
            return False
        self._replace(name, None)
        return True

    def replace_all(self, configs: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> None:
        """Takes another broker's table, whole."""
        self.configs, self.version = dict(configs), version
        self.file.mark()
        self.file.write()

    def _replace(self, name: str, config: SubscriptionGroupConfig | None) -> None:
        before, version = self.configs.get(name), self.version
        self._set(name, config)
        self.version = DataVersion(version.counter + 1, self._clock.now_ms())
        try:
            self.file.changed()
        except StorageError:
            self._set(name, before)
            self.version = version
            raise

    def _set(self, name: str, config: SubscriptionGroupConfig | None) -> None:
        if config is None:
            self.configs.pop(name, None)
        else:
            self.configs[name] = config
