"""The options of every command, read from a table of text beside this module, so that a Tab imports no command.

A wheel brings the table (`.ci/hatch_build.py`). In a checkout, which does not, the first use has another process write
it (`mqctl.cli.option_table`). Its first line then identifies the source files, and a change of them has it written
again; the first line of a wheel's table is empty.
"""

from __future__ import annotations

import os

WORD = "__options"
_PLACE = f"{__file__.removesuffix('.py')}.txt"
_PACKAGE = __file__.removesuffix("/cli/catalog_options.py")
_TABLE: list[str] = []  # once this process has read it


def table() -> str:
    """Returns the table: options, an empty line, commands (`mqctl.cli.option_table` describes both).

    Raises:
        CalledProcessError: a checkout has no current table, and one of its commands cannot be imported.
    """
    if not _TABLE:
        state, _, text = _read().partition("\n")
        current = text and (not state or state == _state_of_sources())
        _TABLE.append(text if current else _build())
    return _TABLE[0]


def _read() -> str:
    try:
        with open(_PLACE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs a Tab more than the rest of this
            return file.read()
    except OSError:
        return ""


def _state_of_sources() -> str:
    """Returns number, bytes and times of all source files: an edited, added or removed one changes it."""
    count = size = times_ns = 0
    directories = [_PACKAGE]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    count, size, times_ns = count + 1, size + status.st_size, times_ns + status.st_mtime_ns
                elif "." not in entry.name and entry.name != "__pycache__":  # packages, and nothing else
                    directories.append(entry.path)
    return f"{count} {size} {times_ns}"


def _build() -> str:
    """Has another process import all commands, and keeps the table it prints where that can be written."""
    import subprocess
    import sys
    from contextlib import suppress
    from pathlib import Path

    from mqctl.store.own_files import write_whole

    state = _state_of_sources()  # before: what is edited meanwhile is not in the table
    place = Path(_PLACE)
    path = os.pathsep.join([str(place.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "mqctl", WORD]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    text = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment, check=True).stdout
    with suppress(OSError):  # the next process builds it again
        write_whole(place, f"{state}\n{text}".encode(), sweep=place.name)
    return text
