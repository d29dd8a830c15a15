"""Users and ACLs of 5.x brokers, and access files of 4.9; passwords are judged where they come in, and dropped."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

from mqctl.client.admin import access as ask
from mqctl.errors import MqctlError, UnsupportedError
from mqctl.model.access import AccessFile, AccessState, is_well_known
from mqctl.model.gap import Part
from mqctl.protocol.bodies_access import UserInfo
from mqctl.protocol.codes import ResponseCode
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings
from mqctl.store.access_file import AccessFileContent, access_of_files, read_access_file
from mqctl.text import sentence

# 3: before 5.3, where there are no users; 1: nothing is switched on, so that nothing is kept.
_NO_USERS = frozenset({ResponseCode.SYSTEM_ERROR, ResponseCode.REQUEST_CODE_NOT_SUPPORTED})
_SWITCHES = ("authenticationEnabled", "authorizationEnabled")


def ask_listed_access(asking: Asking, brokers: list[LiveBroker], copy: Path | None = None) -> None:
    """Reads the access lists of 4.9 brokers that have one: from a copy, or from the files that are on this host.

    One whose files cannot be read gets a gap. Raises BadInputError, PermissionDeniedError, StorageError: the copy.
    """
    given = None if copy is None else access_of_files({str(copy): read_access_file(copy)})
    ask_access_files(asking, brokers)
    for broker in brokers:
        if not broker.access_files:
            continue
        broker.access = given or (_of_files(broker.access_files) if is_here(broker.address.address) else None)
        if broker.access is None:
            broker.miss(Part.ACCESS, UnsupportedError(_NOT_TOLD))


_NOT_TOLD = sentence(
    "acl-listed-not-told",
    "no request tells what the access files of a 4.9 broker say, and they could not be read here: --acl-rules names "
    "a copy of its plain_acl.yml",
)


def ask_checked_access(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks those that say that they check who asks; of 4.9, reads the access files that are on this host."""
    ask_access(asking, [item for item in brokers if any(item.config.get(name) == "true" for name in _SWITCHES)])
    ask_access_files(asking, brokers)
    for broker in brokers:
        if broker.access_files and is_here(broker.address.address):
            broker.access = _of_files(broker.access_files)


def ask_access(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks for users and their entries; a broker that has none keeps `access` None, without a gap."""
    users = asking.put((number, item.address.address, ask.all_users()) for number, item in enumerate(brokers))
    entries = asking.put((number, item.address.address, ask.all_entries()) for number, item in enumerate(brokers))
    for number, broker in enumerate(brokers):
        error = users.errors.get(number) or entries.errors.get(number)
        if error is None:
            users_of_broker = users.values[number]
            broker.access = AccessState(
                users=tuple(item.user() for item in users_of_broker),
                entries=entries.values[number],
                well_known=tuple(_well_known(users_of_broker)),
            )
        elif not refused_with(error, _NO_USERS):
            broker.miss(Part.ACCESS, error)


def ask_access_files(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks those of 4.9 that control access for the files of their access list; others never answer that."""
    ask_settings(asking, [item for item in brokers if not item.config])
    listed = [item for item in brokers if item.config.get("aclEnable") == "true"]
    answers = asking.put((number, item.address.address, ask.access_files()) for number, item in enumerate(listed))
    for number, broker in enumerate(listed):
        if number in answers.values:
            broker.access_files = answers.values[number]
        else:
            broker.miss(Part.ACCESS, answers.errors[number])


def _of_files(files: tuple[AccessFile, ...]) -> AccessState | None:
    """Returns what the files say; None when one of them cannot be read here, or is not the one the broker has."""
    contents: dict[str, AccessFileContent] = {}
    for file in files:
        try:
            content = contents[file.path] = read_access_file(Path(file.path))
        except MqctlError:
            return None  # of another host or user: what it says is not known, as with any broker elsewhere
        if content.change_count != file.change_count or content.changed_ms not in (None, file.changed_ms):
            return None
    return access_of_files(contents)


def is_here(address: str) -> bool:
    """Tells whether an address (`ip:port`) is one of this host's."""
    host = address.rpartition(":")[0].strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


def _well_known(users: Iterable[UserInfo]) -> Iterable[str]:
    for item in users:
        if is_well_known(item.username or "", item.password or ""):
            yield item.username or ""
