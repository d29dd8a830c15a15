"""`plain_acl.yml` and the files in `conf/acl/`: the access list of a 4.9 broker, as far as it may be told on.

Secret keys are judged here and dropped: nothing that leaves has them. Source: `PlainPermissionManager` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mqctl.errors import BadInputError
from mqctl.model.access import NORMAL, SUPER, AccessEntry, AccessState, AccessUser, is_well_known
from mqctl.model.access_list import EVERYBODY, listed_entries
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.protocol.yaml_text import UnreadableYaml, load_yaml
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence

_YES = frozenset({"true", "1", "y", "t"})  # what fastjson takes for true


@dataclass(frozen=True, slots=True)
class AccessFileContent:
    """What one access file says.

    Attributes:
        change_count: how often it was changed by request; 0 when it never was.
        changed_ms: when it last was, epoch milliseconds; None when it never was.
        white: addresses whose requests are not checked.
        accounts: `Super` are those with `admin: true`.
        well_known: access keys whose secret key everybody tries first.
        unsigned: access keys that need no signature, from anywhere.
        entries: permissions by access key.
        white_of: addresses from which requests of an account are not checked, by access key.
    """

    change_count: int
    changed_ms: int | None
    white: tuple[str, ...]
    accounts: tuple[AccessUser, ...]
    well_known: tuple[str, ...]
    unsigned: tuple[str, ...]
    entries: Mapping[str, tuple[AccessEntry, ...]]
    white_of: Mapping[str, str]


def read_access_file(path: Path) -> AccessFileContent:
    """Reads an access file. Raises BadInputError, PermissionDeniedError, StorageError; none shows what is in it."""
    problem = sentence("store-could-not-read-access-file", "could not read the access file {path}", path=path)
    try:
        node = load_yaml(read_named(path), last_counts=True)  # as SnakeYAML has it
    except OSError as error:
        raise refused(problem, error) from error
    except UnreadableYaml as error:
        raise BadInputError(problem, reason=error.discreet) from None
    values = node if isinstance(node, dict) else {}
    version = next(iter(_mappings(values, "dataVersion")), {})
    accounts = [item for item in _mappings(values, "accounts") if item.get("accessKey") is not None]
    return AccessFileContent(
        change_count=decimal(_text(version.get("counter"))) or 0,
        changed_ms=decimal(_text(version.get("timestamp"))),
        white=tuple(_text(item) for item in _list(values, "globalWhiteRemoteAddresses")),
        accounts=tuple(AccessUser(_key(item), SUPER if _is_admin(item) else NORMAL) for item in accounts),
        well_known=tuple(_key(item) for item in accounts if is_well_known(_key(item), _text(item.get("secretKey")))),
        unsigned=tuple(_key(item) for item in accounts if _text(item.get("whiteRemoteAddress")) in EVERYBODY),
        entries={_key(item): _entries(item) for item in accounts},
        white_of={_key(item): white for item in accounts if (white := _text(item.get("whiteRemoteAddress")))},
    )


def access_of_files(contents: Mapping[str, AccessFileContent]) -> AccessState:
    """Returns what access files, by their paths, say together."""
    return AccessState(
        users=tuple(account for content in contents.values() for account in content.accounts),
        well_known=tuple(key for content in contents.values() for key in content.well_known),
        unchecked=tuple(path for path, content in contents.items() if EVERYBODY & set(content.white)),
        unsigned=tuple(key for content in contents.values() for key in content.unsigned),
        listed=True,
        white=tuple(address for content in contents.values() for address in content.white),
        # Of two files with one account the first counts.
        entries={key: own for content in reversed([*contents.values()]) for key, own in content.entries.items()},
        white_of={key: own for content in reversed([*contents.values()]) for key, own in content.white_of.items()},
    )


def _entries(account: dict[object, object]) -> tuple[AccessEntry, ...]:
    return listed_entries(
        [_text(item) for item in _list(account, "topicPerms")],
        [_text(item) for item in _list(account, "groupPerms")],
        _text(account.get("defaultTopicPerm")),
        _text(account.get("defaultGroupPerm")),
    )


def _key(account: dict[object, object]) -> str:
    return _text(account["accessKey"])


def _is_admin(account: dict[object, object]) -> bool:
    return _text(account.get("admin")).lower() in _YES


def _mappings(values: dict[object, object], name: str) -> list[dict[object, object]]:
    return [item for item in _list(values, name) if isinstance(item, dict)]


def _list(values: dict[object, object], name: str) -> list[object]:
    value = values.get(name)
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
