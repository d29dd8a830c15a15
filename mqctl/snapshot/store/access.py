"""Users and access entries in a broker's directory: access files of 4.9, the databases of 5.x, or the files that the
embedded broker has in their place.

Passwords are judged where they are read, and dropped. In the databases of a real 5.x broker words are numbers, as
`UserType`, `UserStatus`, `PolicyType`, `Decision`, `Action`, `ResourceType` and `ResourcePattern` of 5.3.3 have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mqctl.errors import MqctlError
from mqctl.model.access import (
    ALL,
    ALLOW,
    ANYTHING,
    CUSTOM,
    DEFAULT,
    DENY,
    DISABLE,
    ENABLE,
    NORMAL,
    SUPER,
    AccessEntry,
    AccessState,
    AccessUser,
    is_well_known,
)
from mqctl.model.config_file import FileSource
from mqctl.model.gap import Cause, Part, cause_of
from mqctl.protocol.bodies_access import SUBJECT_PREFIX, AclInfo, UserInfo
from mqctl.protocol.body import BodyError
from mqctl.protocol.fastjson import FastjsonError, loads
from mqctl.snapshot.store.reading import Reading
from mqctl.store import config_files as configs
from mqctl.store.access_file import AccessFileContent, access_of_files, read_access_file
from mqctl.store.directory import is_rocksdb
from mqctl.store.rocksdb_database import DatabaseError, rows_of
from mqctl.text import composed, sentence

_LIST, _MORE_LISTS, _YAML = "plain_acl.yml", "acl", {".yml", ".yaml"}
_USERS, _ACLS = "config/users", "config/acls"
_KINDS, _STATUSES = {1: SUPER, 2: NORMAL}, {1: ENABLE, 2: DISABLE}
_POLICIES, _DECISIONS = {1: CUSTOM, 2: DEFAULT}, {1: ALLOW, 2: DENY}
_ACTIONS = {1: ALL, 3: "Pub", 4: "Sub", 5: "Create", 6: "Update", 7: "Delete", 8: "Get", 9: "List"}
_TYPES = {2: "Cluster", 4: "Topic", 5: "Group"}
_ANY, _PREFIXED = 1, 3


def store_access(reading: Reading) -> AccessState | None:
    """Returns who may do what, as far as the directory tells; None where nothing in it speaks of access.

    A broker of 4.9 has its access files in `conf` of its home: they are seen when that was copied into the store's
    directory, or beside it.
    """
    root = reading.store.path
    try:
        in_databases = any(is_rocksdb(root / name) for name in (_USERS, _ACLS))
        homes = (root / "conf", root.parent / "conf")
        files = next((files for home in homes if (files := list(_files(home)))), [])
    except OSError as error:
        reading.miss(Part.ACCESS, f"{error.filename}: {(error.strerror or str(error)).lower()}", cause=Cause.UNREADABLE)
        return None
    if in_databases:
        return _of_databases(reading)
    if reading.config(configs.USERS).state.source is not FileSource.NONE:
        return _of_users(reading)
    return _of_files(reading, files)


def _files(conf: Path) -> Iterator[Path]:
    """Yields the access files below a broker's `conf`, in the order in which it reads them."""
    folder = conf / _MORE_LISTS
    yield from sorted(path for path in folder.rglob("*") if path.suffix in _YAML) if folder.is_dir() else ()
    if (conf / _LIST).exists():
        yield conf / _LIST


def _of_files(reading: Reading, files: list[Path]) -> AccessState | None:
    contents: dict[str, AccessFileContent] = {}
    for path in files:
        try:
            contents[str(path)] = read_access_file(path)
        except MqctlError as error:
            reading.miss(
                Part.ACCESS,
                composed("{path}: {reason}", path=path, reason=error.reason or error.problem),
                cause=cause_of(error),
            )
            return None
    return access_of_files(contents) if contents else None


def _of_databases(reading: Reading) -> AccessState | None:
    """Returns what the databases of a 5.x broker say; None when they cannot be read."""
    from mqctl.store import rocksdb

    if not rocksdb.can_read():
        reason = sentence(
            "snapshot-users-kept-rocksdb-database",
            "users are kept in a RocksDB database; install mqctl[rocksdb] to read it",
        )
        reading.miss(Part.ACCESS, reason, cause=Cause.UNREADABLE)
        return None
    root = reading.store.path
    try:
        users, acls = ([_Stored(loads(value.encode())) for value in _rows(root / part)] for part in (_USERS, _ACLS))
        return AccessState(
            users=tuple(
                AccessUser(item.text("username"), item.word("userType", _KINDS), item.word("userStatus", _STATUSES))
                for item in users
            ),
            entries={acl.part("subject").text("username"): tuple(_entries(acl)) for acl in acls},
            well_known=tuple(
                name for item in users if is_well_known(name := item.text("username"), item.text("password"))
            ),
        )
    except (DatabaseError, FastjsonError, BodyError) as error:
        reason = error.reason if isinstance(error, BodyError) else str(error)
        reading.miss(Part.ACCESS, composed("{users}, {acls}: {reason}", users=_USERS, acls=_ACLS, reason=reason))
        return None


def _rows(database: Path) -> Iterator[str]:
    """Yields the values of a database; of one that is not there none: a broker without authorization has no entries."""
    if database.exists():
        yield from rows_of(database).values()


class _Stored:
    """An object of a database. What is not as it should be raises BodyError; none shows a value."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise _unfit(sentence("snapshot-an-object", "an object"))
        self._fields = value

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise _unfit(name)
        return value

    def number(self, name: str) -> int:
        value = self._fields.get(name)
        if not isinstance(value, int):
            raise _unfit(name)
        return value

    def word(self, name: str, words: Mapping[int, str]) -> str:
        return _word(name, words, self._fields.get(name))

    def words(self, name: str, words: Mapping[int, str]) -> tuple[str, ...]:
        return tuple(_word(name, words, item) for item in self._list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(item for item in self._list(name) if isinstance(item, str))

    def part(self, name: str) -> _Stored:
        return _Stored(self._fields.get(name) or {})

    def parts(self, name: str) -> list[_Stored]:
        return [_Stored(item) for item in self._list(name)]

    def _list(self, name: str) -> list[object]:
        value = self._fields.get(name) or []
        if not isinstance(value, list):
            raise _unfit(name)
        return value


def _word(name: str, words: Mapping[int, str], value: object) -> str:
    word = words.get(value) if isinstance(value, int) else None
    if word is None:
        raise _unfit(name)
    return word


def _unfit(name: str) -> BodyError:
    return BodyError(
        sentence("snapshot-entry-database-read", "An entry of a database cannot be read"),
        reason=sentence("snapshot-access-entry-unknown", "{name} is none that is known here", name=name),
    )


def _entries(acl: _Stored) -> Iterator[AccessEntry]:
    for policy in acl.parts("policies"):
        for item in policy.parts("entries"):
            yield AccessEntry(
                _resource(item.part("resource")),
                item.words("actions", _ACTIONS),
                item.word("decision", _DECISIONS),
                item.part("environment").texts("sourceIps"),
                policy.word("policyType", _POLICIES),
            )


def _resource(stored: _Stored) -> str:
    if stored.number("resourceType") == _ANY:
        return ANYTHING
    kind, pattern = stored.word("resourceType", _TYPES), stored.number("resourcePattern")
    if pattern == _ANY:
        return f"{kind}:*"
    return f"{kind}:{stored.text('resourceName')}{'*' if pattern == _PREFIXED else ''}"


def _of_users(reading: Reading) -> AccessState | None:
    """Returns what the files of the embedded broker say."""
    try:
        users = [UserInfo.from_json(value) for value in reading.config(configs.USERS).value.values()]
        acls = [AclInfo.from_json(value) for value in reading.config(configs.ACLS).value.values()]
    except BodyError as error:
        reading.miss(
            Part.ACCESS,
            composed("{users}, {acls}: {reason}", users=configs.USERS, acls=configs.ACLS, reason=error.reason),
        )
        return None
    return AccessState(
        users=tuple(item.user() for item in users),
        entries={(acl.subject or "").removeprefix(SUBJECT_PREFIX): acl.access_entries() for acl in acls},
        well_known=tuple(
            item.username or "" for item in users if is_well_known(item.username or "", item.password or "")
        ),
    )
