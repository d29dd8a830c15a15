"""Plans in files: what `--export` writes and `--from-file` reads, and lists of queues that people write by hand."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO

import msgspec

from mqctl.model.numbers import decimal
from mqctl.text import sentence

_REQUIRED = ("topic", "broker_name", "queue_id", "new")


class FileQueue(msgspec.Struct, kw_only=True):
    """One queue of a plan in a file.

    Attributes:
        old: the offset that the plan rests on; None when the group had none.
        knows_old: whether the file says anything about it.
        broker_address: of the master, for proof of the cluster.
    """

    topic: str
    broker_name: str
    queue_id: int
    new: int
    old: int | None = None
    knows_old: bool = True
    broker_address: str | None = None


class PlanFile(msgspec.Struct, kw_only=True):
    """A plan in a file; a CSV names no group."""

    queues: list[FileQueue]
    group: str | None = None


def read_plan(data: bytes, *, is_csv: bool) -> PlanFile:
    """Reads a plan.

    Raises:
        ValueError: it is none.
    """
    try:
        plan = _from_csv(data) if is_csv else msgspec.json.decode(data, type=PlanFile)
    except csv.Error as error:
        raise ValueError(sentence("file-no-csv", "it is not CSV: {error}", error=error)) from error
    except RecursionError as error:
        raise ValueError(sentence("nested-too-deeply", "it is nested too deeply")) from error
    if not plan.queues:
        raise ValueError(sentence("file-names-no-queue", "it names no queue"))
    places = [(row.topic, row.broker_name, row.queue_id) for row in plan.queues]
    if len(set(places)) != len(places):
        raise ValueError(sentence("file-names-queue-twice", "it names a queue twice"))
    return plan


def _from_csv(data: bytes) -> PlanFile:
    reader = csv.DictReader(StringIO(data.decode("utf-8-sig"), newline=""))
    columns = reader.fieldnames or ()
    if missing := [name for name in _REQUIRED if name not in columns]:
        raise ValueError(sentence("file-without-column", "it has no column {column}", column=missing[0]))
    return PlanFile(queues=[_queue(row, number) for number, row in enumerate(reader, start=2)])


def _queue(row: Mapping[str, str | None], number: int) -> FileQueue:
    old = row.get("old")
    try:
        return FileQueue(
            topic=row["topic"] or "",
            broker_name=row["broker_name"] or "",
            queue_id=_whole(row["queue_id"]),
            new=_whole(row["new"]),
            old=_whole(old) if old else None,
            knows_old="old" in row,
            broker_address=row.get("broker_address") or None,
        )
    except ValueError as error:
        raise ValueError(sentence("plan-file-line", "line {number}: {error}", number=number, error=error)) from error


def _whole(text: str | None) -> int:
    number = decimal(text, low=-1)
    if number is None:
        raise ValueError(
            sentence(
                "file-no-queue-or-offset", "{text!r} is not the number of a queue or an offset", text=(text or "")[:40]
            )
        )
    return number
