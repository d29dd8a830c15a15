"""Hands a command's document to the asked format. stdout is data."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document
from mqctl.text import composed


class Output(StrEnum):
    """The formats of `-o`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    NDJSON = "ndjson"
    YAML = "yaml"
    CSV = "csv"


@dataclass(slots=True)
class Overheard:
    """What a command that runs inside another one would have written: its documents, and its lines of talk."""

    documents: list[Document] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)


_without_reader: list[bool] = []
_listening: ContextVar[Overheard | None] = ContextVar("listening", default=None)


@contextmanager
def overheard() -> Iterator[Overheard]:
    """Takes what commands of this thread emit and tell, instead of stdout and stderr."""
    listener = Overheard()
    token = _listening.set(listener)
    try:
        yield listener
    finally:
        _listening.reset(token)


def is_overheard() -> bool:
    """Tells whether a command runs inside another one, which draws by itself."""
    return _listening.get() is not None


def emit(document: Document, output: Output) -> None:
    """Writes `document` to stdout, and as JSON to the file that MQCTL_TEE_JSON names, whatever `output` is.

    A playbook shows its steps as people read them and takes values out of the same run. A reader that goes away
    (`| head`) does not keep a command from its verdict: the rest goes nowhere.

    Raises:
        BrokenPipeError: it had gone away before; nobody reads a second document.
    """
    if (listener := _listening.get()) is not None:
        listener.documents.append(document)
        return
    if _without_reader:
        raise BrokenPipeError
    tee = os.environ.get("MQCTL_TEE_JSON")
    if tee:
        from io import StringIO

        from mqctl.render.machine import write_json
        from mqctl.store.own_files import write_named

        copy = StringIO()
        write_json(document, copy)
        write_named(Path(tee), copy.getvalue().encode())
    try:
        _write(document, output)
        sys.stdout.flush()
    except BrokenPipeError:
        _without_reader.append(True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(document: Document, output: Output) -> None:
    stream = sys.stdout
    if output in (Output.TABLE, Output.WIDE):
        from mqctl.cli.language import spoken
        from mqctl.render import text

        if spoken() is not None and spoken() != "en":
            from mqctl.render.spoken_document import spoken_document

            document = spoken_document(document, spoken())
        wide = output is Output.WIDE
        if stream.isatty() and os.environ.get("TERM") != "dumb":
            room = shutil.get_terminal_size().columns
            text.write_fitted(document, stream, wide=wide, room=room, styled=wants_style())
        else:
            text.write_plain(document, stream, wide=wide)
        return
    from mqctl.render import machine

    {
        Output.JSON: machine.write_json,
        Output.NDJSON: machine.write_ndjson,
        Output.YAML: machine.write_yaml,
        Output.CSV: machine.write_csv,
    }[output](document, stream)


def wants_style() -> bool:
    """Tells whether stdout is a terminal that may be styled (NO_COLOR, TERM=dumb and `--no-color` are obeyed)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def tell(line: str) -> None:
    """Writes lines of talk to stderr in the language of the command line.

    What a broker or a file put into it cannot drive the terminal.
    """
    from mqctl.cli.language import spoken
    from mqctl.render.text import printable_lines

    if spoken() is not None and spoken() != "en":
        from mqctl.render import translation

        line = translation.spoken(line, spoken())
    if (listener := _listening.get()) is not None:
        listener.talk.append(printable_lines(line))
        return
    sys.stderr.write(f"{printable_lines(line)}\n")


def note(line: str) -> None:
    """Writes one line that mqctl says of itself to stderr."""
    tell(composed("mqctl: {line}", line=line))
