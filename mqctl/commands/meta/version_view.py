"""What mqctl knows of releases, kinds, engines and files: whatever else it meets it names, and does not judge."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mqctl import __version__
from mqctl.model.config import KNOWN_RETRIES
from mqctl.model.forms import FORMS
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import KNOWN_KINDS
from mqctl.model.release import NEWEST, Release, release_text
from mqctl.model.said import Said, said
from mqctl.protocol.requests import REQUESTS
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.rules import RULES
from mqctl.rules.engine.unknown import KNOWN_ATTRIBUTES, KNOWN_PERMISSIONS, KNOWN_SETTINGS, changes_with_releases
from mqctl.store.known_parts import DIRECTORIES, FIELDS, FILES, TABLES, VALUES
from mqctl.store.rocksdb import KNOWN_FAMILIES
from mqctl.text import Text, joined, keep_texts, sentence

_CONFIG = "config"

_COLUMNS = (
    Column("what", "what", CellKind.SENTENCE),
    Column("listed", "known"),
    Column("otherwise", "where it is another", CellKind.SENTENCE),
)
_LONGEST = 100
"""Letters of a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedRow:
    """One kind of thing.

    Attributes:
        known: the values that mqctl knows; empty where any will do; `keyed_known` are they with keys.
        otherwise: what becomes of one that is not known.
    """

    what: str
    known: list[str]
    otherwise: str
    keyed_known: list[Said] = field(default_factory=list)
    what_key: str | None = None
    what_values: dict[str, Any] | None = None
    otherwise_key: str | None = None
    otherwise_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "what", "otherwise")
        if not self.keyed_known:  # JSON that is read has them
            object.__setattr__(self, "keyed_known", said(self.known))

    @property
    def listed(self) -> str:
        """The values in one cell."""
        if not self.known:
            return sentence("supported-any", "any")
        is_said = any(isinstance(each, Text) for each in self.known)
        listed = joined(", ", self.known) if is_said else ", ".join(self.known)
        if len(listed) <= _LONGEST:
            return listed
        return sentence("supported-many", "{count} of them: -o json lists them", count=len(self.known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """Machine form of `version --supported`."""

    version: str
    supported: list[SupportedRow]


def supported_document() -> Document:
    """Returns the table of what is known."""
    rows = supported_rows()
    return Document(
        schema="version.supported/1",
        value=Supported(version=__version__, supported=rows),
        records=rows,
        csv_columns=_COLUMNS,
        blocks=[Table(_COLUMNS, rows)],
    )


def supported_rows() -> list[SupportedRow]:
    """Returns what is known, one row a kind."""
    return [*_releases(), *_wire(), *_values(), *_files()]


def _releases() -> list[SupportedRow]:
    newest = {rule.proven_to for rule in RULES.values() if changes_with_releases(rule)}
    return [
        SupportedRow(
            what=sentence("supported-releases", "release of a broker"),
            known=[sentence("supported-up-to", "up to {newest}", newest=release_text(each))],
            otherwise=_of_broker(),
        )
        for each in sorted(newest)
    ]


def _of_broker() -> str:
    return sentence("supported-not-of-broker", "rules that depend on it are not checked for that broker")


def _wire() -> list[SupportedRow]:
    by_newest: dict[Release, int] = {}
    for request in REQUESTS.values():
        if request.proven_to is not None:
            by_newest[request.proven_to] = by_newest.get(request.proven_to, 0) + 1
    answers = [
        SupportedRow(
            what=sentence("supported-answers", "release of who answers"),
            known=[sentence("supported-up-to", "up to {newest}", newest=release_text(newest))],
            otherwise=sentence(
                "supported-answers-named",
                "named, where one of {count} of {requests:request} was asked; what is judged by it is not checked",
                count=count,
                requests=len(REQUESTS),
            ),
        )
        for newest, count in sorted(by_newest.items())
    ]
    plans = SupportedRow(
        what=sentence("supported-plans", "release that a plan changes"),
        known=[sentence("supported-up-to", "up to {newest}", newest=release_text(NEWEST))],
        otherwise=sentence("supported-plans-caution", "a caution in the plan, which can be carried out"),
    )
    return [*answers, plans]


def _values() -> list[SupportedRow]:
    of_subject = sentence("supported-not-of-subject", "nothing is checked of that topic or group")
    rows = []
    for name, known in KNOWN_SETTINGS.items():
        what = sentence("supported-setting", "setting {name} of a broker", name=name)
        rows.append(SupportedRow(what=what, known=sorted(known), otherwise=_of_broker()))
    for name, some in KNOWN_ATTRIBUTES.items():
        what = sentence("supported-attribute", "attribute {name}", name=name)
        rows.append(SupportedRow(what=what, known=sorted(some or ()), otherwise=of_subject))
    rows.append(
        SupportedRow(
            what=sentence("supported-permissions", "bits of a topic's permission"),
            known=[str(1 << bit) for bit in range(KNOWN_PERMISSIONS.bit_length())],
            otherwise=of_subject,
        )
    )
    for name, kinds in {**KNOWN_KINDS, "groupRetryPolicy.type": KNOWN_RETRIES}.items():
        what = sentence("supported-kind", "{name} of a group", name=name)
        rows.append(SupportedRow(what=what, known=sorted(kinds), otherwise=of_subject))
    return rows


def _files() -> list[SupportedRow]:
    unread = sentence("supported-family-not-read", "it is not read, and what depends on it is not checked")
    refused = sentence("supported-form-refused", "a newer form is refused by name")
    rows = [
        SupportedRow(
            what=sentence("supported-families", "column families of {database}", database=database),
            known=sorted(families),
            otherwise=unread,
        )
        for database, families in KNOWN_FAMILIES.items()
    ]
    named = sentence("supported-part-named", "it is named, and what depends on it is not checked")
    parts = {
        sentence("supported-parts", "files and directories of a store"): DIRECTORIES | FILES,
        sentence("supported-tables", "files and directories in its {directory}", directory=_CONFIG): TABLES,
    }
    rows += (SupportedRow(what=what, known=sorted(names), otherwise=named) for what, names in parts.items())
    for name in FIELDS:
        file = f"{_CONFIG}/{name}"
        places = (
            f"{place}.{field}" if fields else place for place, fields in FIELDS[name].items() for field in fields or "-"
        )
        what = sentence("supported-fields", "tables and fields of {file}", file=file)
        rows.append(SupportedRow(what=what, known=sorted(places), otherwise=named))
        for place, values in VALUES.get(name, {}).items():
            what = sentence("supported-values", "{field} of {file}", field=place, file=file)
            rows.append(SupportedRow(what=what, known=sorted(values), otherwise=named))
    for name, newest in FORMS.items():
        what = sentence("supported-form", "form of a file: {name}", name=name)
        rows.append(SupportedRow(what=what, known=[str(form) for form in range(1, newest + 1)], otherwise=refused))
    return rows
