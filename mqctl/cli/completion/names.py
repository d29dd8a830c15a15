"""Real names for the Tab: from a cache that is young, else asked by a process of its own, with a cap on the wait.

The Tab itself never speaks to a cluster: it waits at most 300 ms for the process that does, and shows what the cache
holds by then. A slow cluster therefore answers the second Tab, and a dead one costs no more than the cap.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from zlib import crc32

from mqctl.cli.options.bare_name import bare_option

CAP_S = 0.3
FRESH_S = 30.0
KEPT_S = 86_400.0
REFRESH_WORD = "__names"
_ASKING_S = 5.0
_LOOK_S = 0.01

_BY_OPTION = {
    "-g": "group",
    "--group": "group",
    "-t": "topic",
    "--topic": "topic",
    "--trace-topic": "topic",
    "--broker": "broker",
    "--broker-name": "broker",
    "--lose-broker": "broker",
    "--cluster": "cluster",
    "--client": "client",
    "--remove-client": "client",
}
_EXCEPTIONS = {
    ("producer list", "-g"): "producer",
    ("producer list", "--group"): "producer",
    ("offset clone", "--from"): "group",
}
_BY_ARGUMENT = {
    "broker config": "broker",
    "broker describe": "broker",
    "cluster describe": "cluster",
}
_FILES = ("--store", "--snapshot")


def kind_of(command: str, before: list[str], *, takes_value: bool) -> str | None:
    """Returns what kind of name belongs under the cursor, None for none that a cluster knows.

    Args:
        before: the words before the cursor.
        takes_value: the last of them is an option, so that its value is wanted.
    """
    if any(word in _FILES for word in before):
        return None
    if not takes_value and command in _BY_ARGUMENT:
        return _BY_ARGUMENT[command]
    option = before[-1] if takes_value else bare_option(command)
    return _EXCEPTIONS.get((command, option)) or _BY_OPTION.get(option)


def names_of_kind(kind: str, before: list[str]) -> list[str]:
    """Returns the names of a kind, as fresh as can be had within the cap; none when nothing is known."""
    from mqctl.errors import MqctlError

    try:
        place = _place(before)
        if _age_s(place) > FRESH_S:
            _refresh(place, before)
            _wait(place)
        return _read(place, kind)
    except (OSError, ValueError, MqctlError):  # a Tab is no place for errors
        return []


def _place(before: list[str]) -> Path:
    """Returns the cache file of the cluster that the words and the environment mean, whatever it turns out to be."""
    from mqctl.cli.places import cache_dir, config_dir, state_dir

    variables = ("MQCTL_NAMESRV", "NAMESRV_ADDR", "MQCTL_PROFILE")
    meant = [*connection_words(before), *(os.environ.get(name, "") for name in variables)]
    meant += [_changed(config_dir() / "profiles.yaml"), _changed(state_dir() / "local")]
    return cache_dir() / "names" / f"{crc32(chr(0).join(meant).encode()):08x}"


def asking_mark(place: Path) -> Path:
    """Returns the file that stands beside a cache as long as a process asks for it."""
    return place.with_suffix(".asking")


def connection_words(before: list[str]) -> list[str]:
    """Returns the options of a command line that say which cluster is meant."""
    words = []
    for word, following in zip(before, [*before[1:], ""], strict=True):
        if word in ("--namesrv", "-n", "--profile") and following:
            words += [word, following]
    return words


def _changed(path: Path) -> str:
    try:
        return f"{path} {path.stat().st_mtime_ns}"
    except OSError:
        return str(path)


def _age_s(place: Path) -> float:
    try:
        return time.time() - place.stat().st_mtime
    except OSError:
        return float("inf")


def _refresh(place: Path, before: list[str]) -> None:
    """Starts the process that asks, unless one was started a moment ago."""
    import subprocess

    from mqctl.store.own_files import write_whole

    asking = asking_mark(place)
    if _age_s(asking) < _ASKING_S:
        return
    write_whole(asking, b"", durable=False)
    words = [sys.executable, "-m", "mqctl", REFRESH_WORD, str(place), *connection_words(before)]
    nothing = subprocess.DEVNULL
    subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)


def _wait(place: Path) -> None:
    end = time.monotonic() + CAP_S
    while _age_s(place) > FRESH_S and time.monotonic() < end:
        time.sleep(_LOOK_S)


def _read(place: Path, kind: str) -> list[str]:
    if _age_s(place) > KEPT_S:
        return []
    names = []
    for line in place.read_text("utf-8").splitlines():
        which, _, name = line.partition("\t")
        if which == kind:
            names.append(name)
    return names
