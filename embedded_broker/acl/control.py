"""Access control of one broker: the plain list of 4.9, or the users and ACLs of 5.x; one door for requests."""

from __future__ import annotations

from pathlib import Path

from embedded_broker.acl.access_list import AccessList
from embedded_broker.acl.users import Users
from embedded_broker.clock import Clock
from embedded_broker.release import Release
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.persistence import ConfigFile
from mqctl.errors import ConfigurationError
from mqctl.protocol.frame import RemotingCommand


class AccessControl:
    """Who may ask a broker what.

    Args:
        file: the plain list (4.9).
        config: where users and ACLs are kept (5.x).

    Attributes:
        plain: the plain list of 4.9 with `aclEnable`.
        users: users and ACLs of 5.x, whether or not they are checked.

    Raises:
        ConfigurationError: 5.x is to have a plain list; or a list or a first user cannot be read.
        StorageError: the list cannot be made.
    """

    def __init__(self, settings: BrokerSettings, release: Release, clock: Clock, file: Path, config: Path) -> None:
        if release.is_v5 and settings.acl_enable:
            raise ConfigurationError(
                f"broker {settings.broker_name} cannot control access by a list",
                reason=f"{release.name} has no plain ACL",
                remedy="set authenticationEnabled and authorizationEnabled; or start it as 4.9.8",
            )
        self.plain = AccessList(file, clock) if settings.acl_enable else None
        self.users = Users(settings, config, clock) if release.is_v5 else None

    @property
    def files(self) -> tuple[ConfigFile, ...]:
        """What the broker writes when it stops."""
        return self.users.files if self.users is not None and self.users.is_served else ()

    def start(self) -> None:
        """Begins to look for changed lists."""
        if self.plain is not None:
            self.plain.start()

    def stop(self) -> None:
        """Ends that."""
        if self.plain is not None:
            self.plain.stop()

    def check(self, command: RemotingCommand, peer: str) -> None:
        """Passes when a request may be served. Raises AccessDenied."""
        if self.plain is not None:
            self.plain.check(command, peer)
        elif self.users is not None:
            self.users.check(command, peer)
