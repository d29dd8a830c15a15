"""Replay plans in files: of `offset skip`, of consumers that shed messages (`mqctl.model.replay`), and CSV by hand."""

from __future__ import annotations

import csv
from io import StringIO

import msgspec

from mqctl.model.numbers import decimal
from mqctl.model.replay import SCHEMA
from mqctl.text import encoded, sentence

_REQUIRED = ("topic", "broker_name", "queue_id", "begin_offset", "end_offset")


class FileRange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stretch of one queue; `end_offset` is exclusive. The address of the broker proves which cluster it is."""

    topic: str
    broker_name: str
    queue_id: int
    begin_offset: int
    end_offset: int
    count: int = 0
    broker_address: str | None = None


class RangeFile(msgspec.Struct, kw_only=True):
    """A replay plan in a file.

    Attributes:
        reason: why the messages were left out.
    """

    ranges: list[FileRange]
    schema: str = SCHEMA
    group: str | None = None
    reason: str | None = None
    made_at_ms: int = 0
    count: int = 0


def read_ranges(data: bytes, *, is_csv: bool) -> RangeFile:
    """Reads a replay plan.

    Raises:
        ValueError: it is none.
    """
    try:
        plan = _from_csv(data) if is_csv else msgspec.json.decode(data, type=RangeFile)
    except csv.Error as error:
        raise ValueError(sentence("file-no-csv", "it is not CSV: {error}", error=error)) from error
    except RecursionError as error:
        raise ValueError(sentence("nested-too-deeply", "it is nested too deeply")) from error
    if plan.schema != SCHEMA:
        raise ValueError(
            sentence("schema-not", "its schema is {schema}, not {schema_2}", schema=plan.schema, schema_2=SCHEMA)
        )
    if not plan.ranges:
        raise ValueError(sentence("file-names-no-queue", "it names no queue"))
    return plan


def write_ranges(plan: RangeFile) -> bytes:
    """Writes a replay plan."""
    return msgspec.json.format(msgspec.json.encode(plan, enc_hook=encoded), indent=2)


def _from_csv(data: bytes) -> RangeFile:
    reader = csv.DictReader(StringIO(data.decode("utf-8-sig"), newline=""))
    if missing := [name for name in _REQUIRED if name not in (reader.fieldnames or ())]:
        raise ValueError(sentence("file-without-column", "it has no column {column}", column=missing[0]))
    return RangeFile(
        ranges=[
            FileRange(
                topic=row["topic"] or "",
                broker_name=row["broker_name"] or "",
                queue_id=_whole(row["queue_id"]),
                begin_offset=_whole(row["begin_offset"]),
                end_offset=_whole(row["end_offset"]),
                broker_address=row.get("broker_address") or None,
            )
            for row in reader
        ]
    )


def _whole(text: str | None) -> int:
    number = decimal(text, low=-1)
    if number is None:
        raise ValueError(
            sentence(
                "file-no-queue-or-offset", "{text!r} is not the number of a queue or an offset", text=(text or "")[:40]
            )
        )
    return number
