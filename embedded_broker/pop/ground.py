"""What POP consumption stands on: the parts of a broker that it uses, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from embedded_broker.clock import Clock
from embedded_broker.consumers.clients import Clients
from embedded_broker.consumers.offsets import ConsumerOffsets
from embedded_broker.log.intake import Intake
from embedded_broker.log.store import Storage
from embedded_broker.remoting.outbound import OnAnswer
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.groups import GroupTable
from embedded_broker.tables.topics import TopicTable
from mqctl.protocol.header import Request


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Parts of one broker.

    Attributes:
        config: the directory of its configuration files.
        is_behind: tells whether timer messages that fell due may not have been delivered yet.
        ask: asks its name servers.
    """

    intake: Intake
    config: Path
    topics: TopicTable
    groups: GroupTable
    offsets: ConsumerOffsets
    clients: Clients
    is_behind: Callable[[], bool]
    ask: Callable[[Request, OnAnswer], None]

    @cached_property
    def clock(self) -> Clock:
        return self.intake.clock

    @cached_property
    def settings(self) -> BrokerSettings:
        return self.intake.settings

    @cached_property
    def storage(self) -> Storage:
        return self.intake.storage

    @property
    def name(self) -> str:
        return self.settings.broker_name
