"""Every use of the network by a run of mqctl, noted by an audit hook: to whom it connects, which names it looks up."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "MQCTL_TEST_NETWORK_LOG"
# Which of our own addresses reaches others: connecting a datagram socket to a documentation address sends nothing.
_NOWHERE = "192.0.2.1"
_WITH_ADDRESS = frozenset({"socket.connect", "socket.sendto", "socket.bind"})
_WITH_NAME = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "urllib.Request", "ftplib.connect", "smtplib.connect"}
)


def install() -> None:
    """Begins to note, in a run whose environment names a file for it."""
    name = os.environ.get(VARIABLE)
    if not name:
        return
    log = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in _WITH_ADDRESS:
            os.write(log, f"{event} {arguments[1]!r}\n".encode())
        elif event in _WITH_NAME:
            os.write(log, f"{event} {arguments[0]!r}\n".encode())

    sys.addaudithook(watch)


def notes(log: Path) -> list[str]:
    """Returns what was noted, one line a use."""
    return log.read_text().splitlines() if log.exists() else []


def ports(*addresses: str) -> set[str]:
    """Returns the ports of `host:port;host:port`."""
    return {address.rpartition(":")[2] for several in addresses for address in several.split(";")}


def foreign(noted: Iterable[str], known: set[str]) -> list[str]:
    """Returns what does not lead to one of these ports of loopback."""
    return [note for note in noted if not _is_known(note, known)]


def _is_known(note: str, known: set[str]) -> bool:
    event, _, what = note.partition(" ")
    if event == "socket.getaddrinfo":
        return what in ("'127.0.0.1'", "b'127.0.0.1'")
    if event == "socket.bind":  # to no port: whether an address is this machine's; nothing is sent, nobody can connect
        return what == "('127.0.0.1', 0)"
    if event != "socket.connect":
        return False
    host, port = json.loads(what.replace("(", "[").replace(")", "]").replace("'", '"'))[:2]
    return host == _NOWHERE or (host == "127.0.0.1" and str(port) in known)
