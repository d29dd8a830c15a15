"""Settings of topics and groups: as a table for people, as a file for `cluster apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.changes.plan.settings_file import SCHEMA, FileSettings, SettingsFile, unusual_in
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.setting_plan import shown_value
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

COLUMNS = (
    Column("kind", "kind", CellKind.WORDS),
    Column("name", "name"),
    Column("consume_mode", "mode"),
    Column("brokers", "brokers"),
    Column("settings", "settings that are not the default"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRow:
    """A topic or a group on some brokers; its consume mode is `POP` or `PULL`, where that is set for a group."""

    kind: str
    name: str
    consume_mode: str | None
    brokers: str
    settings: str


def export_document(exported: SettingsFile) -> Document:
    """Builds the document of `cluster export`."""
    modes = exported.consume_modes
    rows = [*_rows("topic", exported.topics, {}), *_rows("group", exported.groups, modes)]
    columns = [column for column in COLUMNS if modes or column.key != "consume_mode"]
    topics = len({item.name for item in exported.topics})
    groups = len({item.name for item in exported.groups})
    line = sentence(
        "settings-topics",
        "{topics} and {groups} of {cluster}",
        topics=counted(topics, "topic"),
        groups=counted(groups, "group"),
        cluster=exported.cluster,
    )
    table = Table(columns, rows, empty=sentence("empty-no-topic-and-no-group", "no topic and no group"))
    return Document(
        schema=SCHEMA,
        value=exported,
        records=rows,
        blocks=[
            table,
            Paragraphs(
                [
                    sentence(
                        "settings-yaml-file-writes-cluster",
                        "{line}; -o yaml > FILE writes them for mqctl cluster apply FILE",
                        line=line,
                    )
                ]
            ),
        ],
    )


def _rows(kind: str, items: Sequence[FileSettings], modes: Mapping[str, str]) -> list[ExportedRow]:
    return [
        ExportedRow(
            kind=kind,
            name=item.name,
            consume_mode=modes.get(item.name),
            brokers=", ".join(item.brokers),
            settings=_words(unusual_in(item, TopicConfig if kind == "topic" else SubscriptionGroupConfig)),
        )
        for item in items
    ]


def _words(settings: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shown_value(name, text)}" for name, text in settings.items())
