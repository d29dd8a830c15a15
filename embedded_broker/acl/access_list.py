"""Access control of a broker: who may ask what, from files that are read again when they change.

Source: `PlainPermissionManager` and `AclFileWatchService` of 4.9.8: `conf/plain_acl.yml`, and every `.yml` and `.yaml`
below `conf/acl/`; an account of one file cannot be in another; a file that was emptied leaves what was known.

What requests change is written to the file and counts in full when the file is read again, within five seconds. Until
then an account that was put has only what its request named, and a new white list does not count. Addresses that a
file adds to a white list it did not have when all files were read are never taken back: not before the broker starts
again, or the number of files changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from embedded_broker.acl import file as acl_file
from embedded_broker.acl.addresses import Matches, address_pattern
from embedded_broker.acl.file import FileVersion, Loaded, account_of, key_problem
from embedded_broker.acl.rules import PUB, SHORTEST_KEY, AccessDenied, Account, needs_of
from embedded_broker.clock import Clock, Periodic
from mqctl.errors import ConfigurationError, MqctlError, StorageError
from mqctl.protocol.acl import ACCESS_KEY, signature_matches
from mqctl.protocol.frame import RemotingCommand
from mqctl.store.own_files import write_whole

log = logging.getLogger("embedded_broker")

_WATCH_MS = 5_000
_TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
_VALIDATE = "PlainPermissionManager.validate(PlainPermissionManager.java:%d)"


class AccessList:
    """The accounts of one broker.

    Args:
        file: the default file; it is made, empty, when it is not there. More may lie in `acl/` beside it.

    Raises:
        ConfigurationError: a file cannot be read.
        StorageError: the default file cannot be made.
    """

    def __init__(self, file: Path, clock: Clock) -> None:
        self.file = file.absolute()
        self._clock = clock
        self._accounts: dict[Path, dict[str, Account]] = {}
        self._owners: dict[str, Path] = {}
        self._white: list[Matches] = []
        self._white_of: dict[Path, Sequence[Matches]] = {}
        self._versions: dict[Path, FileVersion] = {}
        self._version = FileVersion(0, clock.now_ms())
        self._changed_ns: dict[Path, int] = {}
        self._patterns: dict[str, Matches] = {}
        self._watch: Periodic | None = None
        try:
            if not self.file.exists():
                write_whole(self.file, b"", mode=0o600)
        except OSError as error:
            raise StorageError(f"could not make {self.file}", reason=error.strerror or str(error)) from error
        self._load_all()

    def start(self) -> None:
        """Begins to look every five seconds whether a file changed."""
        self._watch = Periodic(self._clock, _WATCH_MS, self.reload, first_ms=_WATCH_MS)

    def stop(self) -> None:
        """Ends that."""
        if self._watch is not None:
            self._watch.cancel()

    # Judging

    def check(self, command: RemotingCommand, peer: str) -> None:
        """Passes when a request may be served. Raises AccessDenied.

        Args:
            peer: `ip:port` of who asks.
        """
        address = peer.rpartition(":")[0].strip("[]")
        needs = needs_of(command)
        if any(matches(address) for matches in self._white):
            return
        key = command.ext(ACCESS_KEY)
        if key is None:
            raise AccessDenied("No accessKey is configured", _VALIDATE % 664)
        owner = self._owners.get(key)
        if owner is None:
            raise AccessDenied(f"No acl config for {key}", _VALIDATE % 668)
        account = self._accounts.get(owner, {}).get(key)
        if account is None:
            raise AccessDenied(f"No PlainAccessResource for accessKey={key}", _VALIDATE % 675)
        if self._pattern(account.white_address)(address):
            return
        if not signature_matches(command, account.secret_key):
            raise AccessDenied(f"Check signature failed for accessKey={key}", _VALIDATE % 684)
        if needs.get(_TRACE_TOPIC) == PUB:
            return
        account.check(command.code, needs)

    def _pattern(self, text: str) -> Matches:
        matches = self._patterns.get(text)
        if matches is None:
            matches = self._patterns[text] = address_pattern(text)
        return matches

    # Files

    def _files(self) -> list[Path]:
        folder = self.file.parent / "acl"
        more = sorted(path for path in folder.rglob("*") if path.suffix in {".yml", ".yaml"}) if folder.is_dir() else []
        return [*more, self.file]

    def _load_all(self) -> None:
        loaded = {}
        changed = {}
        for path in self._files():
            changed[path] = _changed_ns(path)
            entry = self._checked(path)
            if entry is not None:
                loaded[path] = entry
        self._changed_ns = changed
        self._owners, self._accounts, self._white, self._white_of, self._versions = {}, {}, [], {}, {}
        for path, entry in loaded.items():
            if entry.white:
                self._white_of[path] = entry.white
                self._white += entry.white
            accounts = self._accounts[path] = {}
            for account in entry.accounts:
                owner = self._owners.setdefault(account.access_key, path)
                if owner != path:
                    log.warning(
                        "the access key %s is in %s and in %s: the first counts", account.access_key, owner, path
                    )
                elif account.access_key not in accounts:
                    accounts[account.access_key] = account
            self._take_version(path, entry.version)

    def _checked(self, path: Path) -> Loaded | None:
        loaded = acl_file.load(path)
        for account in loaded.accounts if loaded is not None else ():
            self._pattern(account.white_address)
        return loaded

    def _take_version(self, path: Path, version: FileVersion | None) -> None:
        self._versions[path] = version or FileVersion(0, self._clock.now_ms())
        if path == self.file:
            self._version = self._versions[path]

    def reload(self) -> None:
        """Reads changed files again; one that cannot be read leaves everything as it was, with a line in the log."""
        try:
            files = self._files()
            if files != list(self._changed_ns):
                self._load_all()
                return
            for path in files:
                changed_ns = _changed_ns(path)
                if changed_ns != self._changed_ns[path]:
                    self._changed_ns[path] = changed_ns
                    self._load_one(path)
        except (MqctlError, OSError) as error:
            log.warning("the access list is left as it was: %s", error)

    def _load_one(self, path: Path) -> None:
        loaded = self._checked(path)
        if loaded is None:
            return
        self._white += loaded.white
        if path in self._white_of:
            for old in self._white_of[path]:
                self._white.remove(old)
            self._white_of[path] = loaded.white
        accounts = self._accounts[path] = {}
        for account in loaded.accounts:  # of two with one key the last counts, other than when all files are read
            if self._owners.setdefault(account.access_key, path) == path:
                accounts[account.access_key] = account
        self._take_version(path, loaded.version)

    # Changing by request

    @property
    def version(self) -> FileVersion:
        """The version of the default file when it was last read."""
        return self._version

    @property
    def versions(self) -> Mapping[Path, FileVersion]:
        """The version of every file."""
        return self._versions

    def put(self, entry: Mapping[str, object]) -> None:
        """Adds an account, or changes the given entries of one, in its file.

        Raises:
            ConfigurationError: an entry is not as it must be.
            StorageError: the file cannot be written.
        """
        access = str(entry.get("accessKey") or "")
        if len(access) < SHORTEST_KEY or len(str(entry.get("secretKey") or "")) < SHORTEST_KEY:
            raise ConfigurationError(key_problem(access))
        _check_words([*_listed(entry, "topicPerms"), *_listed(entry, "groupPerms")])
        account = account_of(entry)
        self._pattern(account.white_address)
        owner = self._owners.get(access)
        path = owner or self.file
        node = acl_file.read_node(path)
        listed = node.get(acl_file.ACCOUNTS) is not None
        items = acl_file.account_items(node)
        known = next((item for item in items if _is_account(item, access)), None)
        before = known if isinstance(known, dict) else {}
        if known is not None or not listed or owner is None:
            items[:] = [item for item in items if item is not known]
            items.append({**before, **entry})
        in_memory = self._accounts.setdefault(path, {})
        if owner is None or access in in_memory or not in_memory:
            in_memory[access] = account
        self._write(path, node)
        self._owners[access] = path

    def remove(self, access_key: str) -> bool:
        """Removes an account from its file; False when there is none. Raises ConfigurationError, StorageError."""
        path = self._owners.get(access_key)
        if path is None:
            return False
        node = acl_file.read_node(path)
        if not node:
            return True
        items = acl_file.account_items(node)
        known = next((item for item in items if _is_account(item, access_key)), None)
        if known is None:
            return False
        items[:] = [item for item in items if item is not known]
        self._write(path, node)
        del self._owners[access_key]
        return True

    def replace_white(self, addresses: Sequence[str], file: str | None) -> bool:
        """Replaces the global white list of a file; False when the file is none of this access list's."""
        path = Path(file).absolute() if file else self.file
        if path not in self._files():
            log.warning("%s is no file of the access list", path)
            return False
        for address in addresses:
            address_pattern(address)
        node = acl_file.read_node(path)
        node[acl_file.WHITE] = list(addresses)
        self._write(path, node)
        return True

    def _write(self, path: Path, node: acl_file.Node) -> None:
        version = acl_file.next_version(node, self._clock.now_ms())
        acl_file.write_node(path, node)
        self._versions[path] = version


def _is_account(item: object, access_key: str) -> bool:
    return isinstance(item, dict) and str(item.get("accessKey")) == access_key


def _check_words(items: Sequence[str]) -> None:
    """Passes when all items are `name=WORD`. Raises ConfigurationError (`Permission.checkResourcePerms`)."""
    for item in items:
        parts = [part for part in item.split("=") if part]
        if len(parts) != 2:
            raise ConfigurationError(
                f"Parse Resource format error for {item}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
            )
        if parts[1].strip() not in {"PUB", "SUB", "PUB|SUB", "SUB|PUB", "DENY"}:
            raise ConfigurationError(
                f"Parse resource permission error for {item}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _listed(entry: Mapping[str, object], name: str) -> list[str]:
    value = entry.get(name)
    return [str(item) for item in value] if isinstance(value, list) else []


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
