"""`plain_acl.yml`: one file of an access list, read into accounts and written back (`AclUtils` of 4.9.8).

Values are texts, as Java makes them: `secretKey: 12345678` is the secret `12345678`. What is not known here stays in
the file when it is written again; comments do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from embedded_broker.acl.addresses import Matches, address_pattern
from embedded_broker.acl.rules import SHORTEST_KEY, Account, permission, permissions
from mqctl.errors import ConfigurationError, StorageError
from mqctl.model.numbers import decimal
from mqctl.protocol.yaml_text import UnreadableYaml, load_yaml
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import read_named

WHITE, ACCOUNTS, VERSION = "globalWhiteRemoteAddresses", "accounts", "dataVersion"
_OWNER_ONLY = 0o600
_YES = frozenset({"true", "1", "y", "t"})  # what fastjson takes for true
Node = dict[str, object]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """How often a file was changed by request, and when last (epoch milliseconds)."""

    counter: int = 0
    timestamp: int = 0

    def document(self) -> dict[str, object]:
        """Returns the form of the file and of the wire."""
        return {"counter": self.counter, "timestamp": self.timestamp}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file says; the version is None when it names none."""

    white: tuple[Matches, ...]
    accounts: tuple[Account, ...]
    version: FileVersion | None


def read_node(file: Path) -> Node:
    """Returns the document of a file, empty when it has none. Raises ConfigurationError."""
    problem = f"could not read the access list {file}"
    try:
        node = load_yaml(read_named(file), last_counts=True)  # as SnakeYAML has it
    except OSError as error:
        raise ConfigurationError(problem, reason=error.strerror or str(error), remedy="name another file") from error
    except UnreadableYaml as error:
        raise ConfigurationError(problem, reason=error.discreet, remedy="mend it") from None
    if node is None:
        return {}
    if not isinstance(node, dict):
        raise ConfigurationError(problem, reason="it is no mapping", remedy=f"begin it with `{ACCOUNTS}:`")
    return node


def write_node(file: Path, node: Node) -> None:
    """Writes a document, whole or not at all, with the permissions of the old one. Raises StorageError."""
    import yaml

    try:
        text = yaml.safe_dump(node, sort_keys=False, allow_unicode=True)
        write_whole(file, text.encode(), mode=None if file.exists() else _OWNER_ONLY)
    except OSError as error:
        raise StorageError(f"could not write {file}", reason=error.strerror or str(error)) from error


def load(file: Path) -> Loaded | None:
    """Reads a file; None when there is nothing in it. Raises ConfigurationError."""
    node = read_node(file)
    if not node:
        return None
    accounts: list[Account] = []
    for item in _items(node, ACCOUNTS):
        if not isinstance(item, dict):
            raise ConfigurationError(f"could not read the access list {file}", reason="an account is no mapping")
        accounts.append(account_of(item))
    white = tuple(address_pattern(_text(item) or "") for item in _items(node, WHITE))
    return Loaded(white, tuple(accounts), _version(node))


def account_of(item: Mapping[str, object]) -> Account:
    """Builds the account of one entry of the file. Raises ConfigurationError, which never shows the secret."""
    access, secret = _text(item.get("accessKey")) or "", _text(item.get("secretKey")) or ""
    if len(access) < SHORTEST_KEY or len(secret) < SHORTEST_KEY:
        raise ConfigurationError(key_problem(access), remedy=f"use keys of {SHORTEST_KEY} characters or more")
    return Account(
        access_key=access,
        secret_key=secret,
        white_address=_text(item.get("whiteRemoteAddress")) or "",
        admin=(_text(item.get("admin")) or "").lower() in _YES,
        default_topic_perm=permission(_text(item.get("defaultTopicPerm"))),
        default_group_perm=permission(_text(item.get("defaultGroupPerm"))),
        perms=permissions(_texts(item, "topicPerms"), _texts(item, "groupPerms")),
    )


def key_problem(access_key: str) -> str:
    """Returns what a 4.9.8 broker says of keys that are too short; it shows the secret as well, we do not."""
    return f"The accessKey={access_key} and secretKey=*** cannot be null and length should longer than 6"


def next_version(node: Node, now_ms: int) -> FileVersion:
    """Counts a change of a document, in it; returns the new version."""
    before = _version(node)
    version = FileVersion(before.counter + 1 if before is not None else 1, now_ms)
    node[VERSION] = [version.document()]
    return version


def _version(node: Mapping[str, object]) -> FileVersion | None:
    for item in _items(node, VERSION):
        if isinstance(item, dict):
            counter, changed_ms = decimal(_text(item.get("counter"))), decimal(_text(item.get("timestamp")))
            if counter is not None and changed_ms is not None:
                return FileVersion(counter, changed_ms)
    return None


def account_items(node: Node) -> list[object]:
    """Returns the accounts of a document as a list that belongs to it."""
    items = list(_items(node, ACCOUNTS))
    node[ACCOUNTS] = items
    return items


def _items(node: Mapping[str, object], name: str) -> Iterable[object]:
    value = node.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ConfigurationError(
            "the access list cannot be read", reason=f"{name} is no list", remedy="begin with `- `"
        )
    return value


def _texts(item: Mapping[str, object], name: str) -> list[str]:
    return [_text(value) or "" for value in _items(item, name)]


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
