"""`mqctl version` and `mqctl --version -o json`: the version, and what scripts and tickets ask along with it."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from mqctl import __version__
from mqctl.cli.emit import Output, emit
from mqctl.errors import UsageError
from mqctl.model.forms import FORMS
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Document, Table
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionReport:
    """Version of mqctl and of Python, and the newest form of each kind of file that it reads and writes."""

    version: str
    python: str
    system: str
    forms: dict[str, int]


def tell_version(arguments: Sequence[str]) -> None:
    """Answers `--version -o FORMAT`. Raises UsageError."""
    words = [part for word in arguments[1:] for part in word.split("=", 1)]
    known = [str(form) for form in Output]
    if len(words) != 2 or words[0] not in ("-o", "--output") or words[1] not in known:
        raise UsageError(
            sentence("cli-version-stands-alone-format", "--version stands alone, or with -o FORMAT"),
            remedy=sentence("cli-version-format", "mqctl --version -o {formats}", formats="|".join(known)),
        )
    emit(version_document(), Output(words[1]))


def version_document() -> Document:
    """Returns the version of mqctl, and what goes with it."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    report = VersionReport(version=__version__, python=platform.python_version(), system=system, forms=FORMS)
    columns = (Column("version", "version"), Column("python", "python"), Column("system", "system"))
    table = Table(columns, [report])
    return Document(schema="version/1", value=report, records=[report], blocks=[table])
