"""A slave copies its master's tables: topics, groups, consumer offsets, delay offsets; 5.x copies more.

Topics and groups are replaced as soon as their version differs, consumer offsets are merged over the slave's own, delay
offsets go to their file as they are. Until the first copy a slave may have the whole log and know no topic of it: 3 s
in 4.9, 60 s in 5.x. Topics are asked of the fast port, two below the other. Source: `SlaveSynchronize`,
`BrokerController.handleSlaveSynchronize` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock, Periodic
from embedded_broker.consumers.offsets import ConsumerOffsets
from embedded_broker.pop.assignments import RequestModes
from embedded_broker.release import Release
from embedded_broker.remoting.outbound import Outbound
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.config_file import write_raw
from embedded_broker.tables.groups import GroupTable
from embedded_broker.tables.topics import TopicTable
from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable, SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.bodies_pop import MessageRequestModes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import Request
from mqctl.protocol.requests_admin import (
    GetAllConsumerOffset,
    GetAllDelayOffset,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
)
from mqctl.protocol.requests_pop import GetAllMessageRequestMode
from mqctl.protocol.requests_v5 import GetTimerCheckPoint, GetTimerMetrics
from mqctl.store.config_files import DELAY_OFFSETS

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

_TIMEOUT_MS = 3_000
_FIRST_MS, _PERIOD_MS = 3_000, 10_000
_V5_MS = 60_000
_TIMER_CHECK_MS = 3_000
_FAST_PORT_DISTANCE = 2
TIMER_CHECK_FILE, TIMER_METRICS_FILE = "timercheck", "timermetrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What is copied into: the slave's own tables, and the directory of its configuration files."""

    topics: TopicTable
    groups: GroupTable
    offsets: ConsumerOffsets
    modes: RequestModes | None
    config: Path


class TableCopier:
    """Copies the tables of a master, again and again.

    Attributes:
        copied: what the master answered last of what a slave has as a file alone, by the name of the file.
        timers: what has it copy; those that are cancelled do not any more.
        master: `ip:port` that the last registration told, None while there is none.
    """

    def __init__(
        self, tables: Tables, settings: BrokerSettings, release: Release, clock: Clock, context: ssl.SSLContext | None
    ) -> None:
        self.master: str | None = None
        self._tables = tables
        self._scale = settings.ha_time_scale
        self._release = release
        self._clock = clock
        self._context = context
        self._connections: dict[str, Outbound] = {}
        self.timers: list[Periodic] = []
        self.copied: dict[str, bytes] = {}

    def start(self) -> None:
        """Begins to copy."""
        if self._release.is_v5:
            self.timers = [
                self._every(_V5_MS, self.copy, first_ms=_V5_MS),
                self._every(_TIMER_CHECK_MS, self._copy_timer_check, first_ms=_TIMER_CHECK_MS),
            ]
        else:
            self.timers = [self._every(_PERIOD_MS, self.copy, first_ms=_FIRST_MS)]

    def _every(self, period_ms: int, callback: Callable[[], None], *, first_ms: int) -> Periodic:
        shrunk_ms, shrunk_first_ms = (max(1, span_ms // self._scale) for span_ms in (period_ms, first_ms))
        return Periodic(self._clock, shrunk_ms, callback, first_ms=shrunk_first_ms)

    async def stop(self) -> None:
        """Ends it."""
        for timer in self.timers:
            timer.cancel()
        for connection in self._connections.values():
            await connection.close(abort=True)

    def copy(self) -> None:
        """Asks the master for all tables, one after the other; what cannot be had is tried at the next round."""
        self._ask(GetAllTopicConfig(), self._take_topics, fast=True)
        self._ask(GetAllConsumerOffset(), self._take_offsets)
        self._ask(GetAllDelayOffset(), self._take_delay_offsets)
        self._ask(GetAllSubscriptionGroupConfig(), self._take_groups)
        if self._tables.modes is not None:
            self._ask(GetAllMessageRequestMode(), self._take_modes)
        if self._release.is_v5:
            self._ask(GetTimerMetrics(), partial(self._take_file, TIMER_METRICS_FILE), fast=True)

    def copy_back(self, done: Callable[[], object]) -> None:
        """Asks for the offsets alone, as a master does whose slave stood in for it; `done` comes after the answers."""
        self._ask(GetAllDelayOffset(), self._take_delay_offsets)
        self._ask(GetAllConsumerOffset(), self._take_offsets, done=done)

    def _copy_timer_check(self) -> None:
        self._ask(GetTimerCheckPoint(), partial(self._take_file, TIMER_CHECK_FILE), fast=True)

    def _ask(
        self,
        request: Request,
        take: Callable[[bytes], object],
        *,
        fast: bool = False,
        done: Callable[[], object] = lambda: None,
    ) -> None:
        if self.master is None:
            return
        connection = self._connection(_fast_address(self.master) if fast else self.master)

        def answered(answer: RemotingCommand | None) -> None:
            if answer is None or answer.code != 0:
                why = "no answer" if answer is None else answer.remark
                log.warning("%s: request %d was not answered: %s", connection.address, request.code, why)
            else:
                try:
                    take(answer.body)
                except MqctlError as error:
                    log.error("%s: request %d: %s", connection.address, request.code, error)
            done()

        connection.call(request.command(opaque=0, version=self._release.ordinal), _TIMEOUT_MS, answered)

    def _connection(self, address: str) -> Outbound:
        known = self._connections.get(address)
        if known is None:
            known = self._connections[address] = Outbound(address, self._clock, self._context)
        return known

    def _take_topics(self, body: bytes) -> None:
        table = TopicConfigTable.from_bytes(body)
        if table.data_version != self._tables.topics.version:
            self._tables.topics.replace_all(table.topic_config_table, table.data_version)

    def _take_groups(self, body: bytes) -> None:
        table = SubscriptionGroupTable.from_bytes(body)
        if table.data_version != self._tables.groups.version:
            self._tables.groups.replace_all(table.configs(), table.data_version)

    def _take_offsets(self, body: bytes) -> None:
        self._tables.offsets.merge(ConsumerOffsetTable.from_bytes(body))

    def _take_delay_offsets(self, body: bytes) -> None:
        self._take_file(DELAY_OFFSETS, body)

    def _take_file(self, name: str, body: bytes) -> None:
        write_raw(self._tables.config, name, body)
        self.copied[name] = body

    def _take_modes(self, body: bytes) -> None:
        if self._tables.modes is not None:
            self._tables.modes.replace_all(MessageRequestModes.from_bytes(body))


def _fast_address(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{(decimal(port) or _FAST_PORT_DISTANCE) - _FAST_PORT_DISTANCE}"
