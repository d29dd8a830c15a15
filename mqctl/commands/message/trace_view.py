"""What became of a message, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message_track import ConsumeTrace, SendTrace, Track
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages_view import ShownMessage, message_blocks
from mqctl.text import sentence

NOT_LOOKED_FOR = sentence(
    "message-not-looked-for",
    "the message was not looked for: no trace names its topic, and there are too many to search; add -t TOPIC",
)
_SEND_COLUMNS = (
    Column("kind", "sent", CellKind.WORDS),
    Column("group", "producer group"),
    Column("client_host", "client"),
    Column("time_ms", "began", CellKind.TIME_MS, none="?"),
    Column("cost_ms", "took", CellKind.DURATION_MS, none="?"),
    Column("message_type", "type"),
    Column("state", "state"),
    Column("succeeded", "succeeded", CellKind.FLAG, none="?"),
)
_CONSUME_COLUMNS = (
    Column("group", "consumer group", none="?"),
    Column("client_host", "client"),
    Column("began_ms", "began", CellKind.TIME_MS, none="?"),
    Column("cost_ms", "took", CellKind.DURATION_MS, none="?"),
    Column("retries", "retries", CellKind.COUNT, none="?"),
    Column("outcome", "outcome", none="not ended"),
)
_SHOWN_TRACKS = 10
_TRACK_COLUMNS = (
    Column("group", "consumer group"),
    Column("consume_mode", "mode"),
    Column("state", "state", CellKind.WORDS),
    Column("online", "online", CellKind.FLAG, none="?"),
    Column("owner", "owner", none="?"),
    Column("consumer_offset", "consumer offset", CellKind.COUNT, none="none"),
    Column("track_type", "mqadmin says", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReport:
    """Machine form of `message trace`.

    Attributes:
        unique_id: by which traces are found; None for a message without one.
        message: None when it is not there any more, or could not be looked up.
        looked_everywhere: whether every broker that was asked for the message and its traces answered.
        searched_topic_count: topics in which its id was looked up; 0 where it is not known and there are too many.
        traced: whether the trace topic was there to look into.
        unreadable_count: lines of trace messages that are none.
        tracks: empty when the message is not there, or waits to be delivered.
    """

    unique_id: str | None
    message: ShownMessage | None
    looked_everywhere: bool
    searched_topic_count: int
    traced: bool
    sends: Sequence[SendTrace]
    consumptions: Sequence[ConsumeTrace]
    unreadable_count: int
    tracks: Sequence[Track]


def _track_table(tracks: Sequence[Track]) -> Table:
    some_set = any(track.consume_mode not in (None, "PULL") for track in tracks)
    columns = [column for column in _TRACK_COLUMNS if some_set or column.key != "consume_mode"]
    return Table(
        columns, tracks, empty=sentence("empty-no-group-has-offsets-on-its-queue", "no group has offsets on its queue")
    )


def with_tracks(document: Document, tracks: Sequence[Track]) -> Document:
    """Adds to a message that was found which groups are past it, those online first, before what to type next."""
    if not tracks:
        return document
    online_first = sorted(tracks, key=lambda track: not track.online)
    *blocks, following = document.blocks
    return replace(document, blocks=[*blocks, _track_table(online_first[:_SHOWN_TRACKS]), following])


def trace_document(report: TraceReport) -> Document:
    """Builds the document of `message trace`."""
    blocks: list[Table | Paragraphs] = []
    blocks += message_blocks([report.message]) if report.message else [Paragraphs([_absent(report)])]
    if report.sends or report.consumptions:
        blocks += [
            Table(_SEND_COLUMNS, report.sends, empty=sentence("empty-no-producer-traced-it", "no producer traced it"))
        ]
        blocks += [
            Table(
                _CONSUME_COLUMNS,
                report.consumptions,
                empty=sentence("empty-no-consumer-traced-it", "no consumer traced it"),
            )
        ]
    else:
        blocks.append(Paragraphs([_untraced(report)]))
    if report.message and report.message.waiting:
        blocks.append(
            Paragraphs(
                [sentence("trace-not-delivered-yet-no", "it is not delivered yet: no group can have consumed it")]
            )
        )
    elif report.message:
        blocks.append(_track_table(report.tracks))
    return Document(
        schema="message.trace/1",
        value=report,
        records=report.tracks,
        csv_columns=_TRACK_COLUMNS,
        blocks=blocks,
    )


def _absent(report: TraceReport) -> str:
    if not report.searched_topic_count:
        return NOT_LOOKED_FOR
    if report.looked_everywhere:
        return sentence("trace-message-not-any-more", "the message is not there any more")
    return sentence("trace-message-not-found-but", "the message was not found, but not every broker could be asked")


def _untraced(report: TraceReport) -> str:
    if report.unique_id is None:
        return sentence("no-unique-id-traces", "it has no unique id, by which traces are found")
    if not report.traced:
        return sentence(
            "no-trace-topic-brokers",
            "there is no trace topic: brokers need traceTopicEnable, clients their own switch",
        )
    if not report.looked_everywhere:
        return sentence("no-trace-found-but", "no trace was found, but not every broker could be asked")
    return sentence(
        "trace-no-client-traced-clients",
        "no client traced it: clients must switch tracing on, and traces come within seconds",
    )
