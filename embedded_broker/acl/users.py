"""Users and ACLs of a 5.x broker, and whether a request may be served.

Source: `AuthenticationMetadataManagerImpl`, `AuthorizationMetadataManagerImpl`, `DefaultAuthenticationHandler`,
`UserAuthorizationHandler` of 5.3.3. A real broker keeps both in RocksDB below `config/users` and `config/acls`; these
are files that only the embedded broker reads, `config/users.json` and `config/acls.json`, with the passwords in plain
text as there, and open to their owner only. Clients cannot tell the difference.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, MutableMapping, Sequence
from pathlib import Path
from typing import TypeVar

from embedded_broker.acl.rules import PermissionRefused
from embedded_broker.acl.wanted import wanted_of
from embedded_broker.clock import Clock
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.persistence import ConfigFile
from mqctl.errors import ConfigurationError, StorageError
from mqctl.model.access import (
    ACTIONS,
    ALLOW,
    ANYTHING,
    CUSTOM,
    DENY,
    DISABLE,
    ENABLE,
    NORMAL,
    RESOURCE_TYPES,
    SUPER,
    AccessEntry,
    decide_access,
    source_problem,
)
from mqctl.protocol.acl import ACCESS_KEY, user_signature_matches
from mqctl.protocol.bodies_access import AclInfo, PolicyInfo, UserInfo, acl_info
from mqctl.protocol.body import BodyError
from mqctl.protocol.declared import replaced
from mqctl.protocol.frame import RemotingCommand
from mqctl.store.config_files import read_config

log = logging.getLogger("embedded_broker")

USERS, ACLS = "users.json", "acls.json"
_PREFIX = "User:"
T = TypeVar("T")


class Users:
    """The users of one broker with their entries.

    Args:
        directory: where `users.json` and `acls.json` lie, the broker's `config`.

    Raises:
        ConfigurationError: a user that the settings want cannot be read.
    """

    def __init__(self, settings: BrokerSettings, directory: Path, clock: Clock) -> None:
        self._settings = settings
        self._users: dict[str, UserInfo] = {}
        self._entries: dict[str, tuple[AccessEntry, ...]] = {}
        self._load(directory)
        self._user_file = ConfigFile(
            directory, USERS, clock, self._user_document, lambda: len(self._users), private=True
        )
        self._acl_file = ConfigFile(directory, ACLS, clock, self._acl_document, lambda: len(self._entries))
        self.files = (self._user_file, self._acl_file)
        for text, name, secret in (
            (settings.init_authentication_user, "username", "password"),
            (settings.inner_client_authentication_credentials, "accessKey", "secretKey"),
        ):
            self._add_super(text, name, secret)

    def _load(self, directory: Path) -> None:
        for name, value in read_config(directory, USERS).value.items():
            self._users[name] = UserInfo.from_json(value)
        for subject, value in read_config(directory, ACLS).value.items():
            self._entries[subject] = AclInfo.from_json(value).access_entries()

    def _user_document(self) -> object:
        return {name: user.to_json() for name, user in sorted(self._users.items())}

    def _acl_document(self) -> object:
        return {subject: self.acl(subject).to_json() for subject in sorted(self._entries)}

    def _add_super(self, text: str, name_field: str, secret_field: str) -> None:
        if not text.strip() or not self.is_served:
            return
        try:
            value = json.loads(text)
            name, password = str(value[name_field]), str(value[secret_field])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigurationError(
                "the first user cannot be made",
                reason=f"no JSON object with {name_field} and {secret_field}",
                remedy="look at initAuthenticationUser and innerClientAuthenticationCredentials",
            ) from error
        if name not in self._users:
            self._users[name] = UserInfo(username=name, password=password, user_type=SUPER, user_status=ENABLE)
            self._user_file.mark()

    # Judging

    @property
    def is_served(self) -> bool:
        """Whether the broker has users at all: it does with a provider, or where it checks."""
        settings = self._settings
        checks = settings.authentication_enabled or settings.authorization_enabled
        return checks or bool(settings.authentication_metadata_provider.strip())

    def check(self, command: RemotingCommand, peer: str) -> None:
        """Passes when a request may be served. Raises PermissionRefused.

        Args:
            peer: `ip:port` of who asks.
        """
        settings = self._settings
        if settings.authentication_enabled and not _listed(settings.authentication_whitelist, command.code):
            self._authenticate(command)
        if settings.authorization_enabled and not _listed(settings.authorization_whitelist, command.code):
            self._authorize(command, peer.rpartition(":")[0].strip("[]"))

    def _authenticate(self, command: RemotingCommand) -> None:
        name = command.ext(ACCESS_KEY)
        if not name or not name.strip():
            raise PermissionRefused("username cannot be null.")
        user = self._users.get(name)
        if user is None:
            raise PermissionRefused(f"User:{name} is not found.")
        if user.user_status == DISABLE:
            raise PermissionRefused(f"User:{name} is disabled.")
        if not user_signature_matches(command, user.password or ""):
            raise PermissionRefused("check signature failed.")

    def _authorize(self, command: RemotingCommand, address: str) -> None:
        try:
            wanted = wanted_of(command, self._settings.broker_cluster_name)
        except BodyError as error:
            raise PermissionRefused("parse authorization context error.") from error
        name = command.ext(ACCESS_KEY)
        for item in wanted:
            reason = self.denial(name, item.resource, item.actions, address)
            if reason is not None:
                raise PermissionRefused(reason)

    def denial(self, name: str | None, resource: str, actions: Sequence[str], address: str) -> str | None:
        """Returns why a user may not do something with a resource from an address, or None."""
        if name is None:
            return "Authorization failed. Please verify your access rights and try again."
        user = self._users.get(name)
        if user is None:
            return f"User:{name} not found."
        entries = self._entries.get(_PREFIX + name, ())
        decision = decide_access(user.user(), entries, resource, actions, address)
        return None if decision.allowed else decision.reason

    def is_super(self, command: RemotingCommand) -> bool:
        """Tells whether a request comes from a Super user, or from nobody at all: then nothing is checked."""
        name = command.ext(ACCESS_KEY)
        if name is None or not name.strip():
            return True
        user = self._users.get(name)
        return user is not None and user.user_type == SUPER

    # Users

    def user(self, name: str) -> UserInfo | None:
        """Returns a user with the password; None when there is none."""
        return self._users.get(name)

    def users(self, part: str) -> list[UserInfo]:
        """Returns the users whose names hold a part, in order of their names."""
        return [self._users[name] for name in sorted(self._users) if part in name]

    def create(self, user: UserInfo) -> None:
        """Adds a user. Raises PermissionRefused, StorageError."""
        name = user.username or ""
        if not (user.password or "").strip():
            raise PermissionRefused("password can not be blank")
        if name in self._users:
            raise PermissionRefused("The user is existed")
        self._put_user(replaced(_known_words(user), user_type=_kind(user) or NORMAL, user_status=ENABLE))

    def update(self, user: UserInfo) -> None:
        """Changes what is given of a user. Raises PermissionRefused, StorageError."""
        old = self._users.get(user.username or "")
        if old is None:
            raise PermissionRefused("The user is not exist")
        new = _known_words(user)
        self._put_user(
            replaced(
                old,
                password=new.password if (new.password or "").strip() else old.password,
                user_type=new.user_type or old.user_type,
                user_status=new.user_status or old.user_status,
            )
        )

    def _put_user(self, user: UserInfo) -> None:
        _stored(self._user_file, self._users, user.username or "", user)

    def delete(self, name: str) -> None:
        """Drops a user and the ACL, if there are any. Raises StorageError."""
        _stored(self._user_file, self._users, name, None)
        _stored(self._acl_file, self._entries, _PREFIX + name, None)

    # ACLs

    def has_acl(self, subject: str) -> bool:
        """Tells whether a subject has entries."""
        return subject in self._entries

    def acl(self, subject: str) -> AclInfo:
        """Returns the entries of a subject as they are answered."""
        return acl_info(subject, self._entries.get(subject, ()))

    def acls(self, subject_part: str, resource_part: str) -> list[AclInfo]:
        """Returns the ACLs of subjects that hold a part, with the entries whose resources hold another."""
        listed = []
        for subject in sorted(self._entries):
            kept = [item for item in self._entries[subject] if resource_part in item.resource]
            if subject_part in subject and kept:
                listed.append(acl_info(subject, kept))
        return listed

    def merge(self, subject: str, acl: AclInfo) -> None:
        """Adds entries to those of a subject; one of the same resource is replaced.

        Raises:
            PermissionRefused: the subject is none, or an entry is not as it must be.
            StorageError: it could not be written.
        """
        if not subject.startswith(_PREFIX):
            raise PermissionRefused("The subject is null.")
        _check_policies(acl.policies or ())
        if subject.removeprefix(_PREFIX) not in self._users:
            raise PermissionRefused(f"The subject of {subject} is not exist.")
        entries = list(self._entries.get(subject, ()))
        for new in acl.access_entries():
            same = [at for at, old in enumerate(entries) if (old.policy, old.resource) == (new.policy, new.resource)]
            if same:
                entries[same[0]] = new
            else:
                entries.append(new)
        _stored(self._acl_file, self._entries, subject, tuple(entries))

    def drop_acl(self, subject: str, policy: str | None, resource: str | None) -> None:
        """Drops the entry of one resource, or the whole ACL. Raises PermissionRefused, StorageError."""
        entries = self._entries.get(subject)
        if entries is None:
            raise PermissionRefused("The acl is not exist.")
        gone = (policy or CUSTOM, resource)
        kept = tuple(item for item in entries if (item.policy, item.resource) != gone) if resource else ()
        _stored(self._acl_file, self._entries, subject, kept or None)


def _stored(file: ConfigFile, table: MutableMapping[str, T], key: str, value: T | None) -> None:
    """Changes a table and has it written; undoes the change where it could not be. Raises StorageError."""
    old = table.get(key)
    _set(table, key, value)
    try:
        file.changed()
    except StorageError:
        _set(table, key, old)
        raise


def _set(table: MutableMapping[str, T], key: str, value: T | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _kind(user: UserInfo) -> str | None:
    return _word(user.user_type, (SUPER, NORMAL))


def _known_words(user: UserInfo) -> UserInfo:
    """Returns a user whose unknown words are none: what a broker makes of them."""
    return replaced(user, user_type=_kind(user), user_status=_word(user.user_status, (ENABLE, DISABLE)))


def _word(text: str | None, words: Iterable[str]) -> str | None:
    return next((word for word in words if text is not None and word.lower() == text.lower()), None)


def _listed(whitelist: str, code: int) -> bool:
    return str(code) in {item.strip() for item in whitelist.split(",")}


def _check_policies(policies: Sequence[PolicyInfo]) -> None:
    """Passes when a broker would take the entries. Raises PermissionRefused."""
    if not policies:
        raise PermissionRefused("The policies is empty.")
    for policy in policies:
        if not policy.entries:
            raise PermissionRefused("The policy entries is empty.")
        for entry in policy.entries:
            kind, colon, name = (entry.resource or "").partition(":")
            if entry.resource != ANYTHING and not (kind in RESOURCE_TYPES and colon and name):
                raise PermissionRefused("The resource is null.")
            if not entry.actions or any(action not in ACTIONS for action in entry.actions):
                raise PermissionRefused("The actions is empty.")
            if any(source_problem(source) for source in entry.source_ips or ()):
                raise PermissionRefused("The source ip is invalid.")
            if entry.decision not in (ALLOW, DENY):
                raise PermissionRefused("The decision is null or illegal.")
