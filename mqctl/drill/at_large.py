"""Judges a history with Spark, where it outgrows a machine: the same definitions, and the same verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mqctl.drill.accusations import Accusations, Accused
from mqctl.drill.checker import Checker, JudgedBy, block_bits, dealt
from mqctl.drill.course import CommittedOffsets, Course
from mqctl.drill.declarations import read_declaration
from mqctl.drill.history import At, HistoryFile, Kind, Rows, piece_of
from mqctl.drill.messages_judged import MessageJudge
from mqctl.drill.queues_judged import QueueJudge
from mqctl.errors import BadInputError
from mqctl.model.drill_verdict import DrillVerdict
from mqctl.text import encoded, sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqctl.spark.judging import Block, Split

_SPLIT_BYTES = 16 << 20
_WIDTH = len(At)


class _Summed(msgspec.Struct, frozen=True):
    """What a split holds that everybody has to know; lines count from 1 within it.

    Attributes:
        offsets: rows of looks at committed offsets, as bytes.
        kinds: how often each kind of event stands there.
        damaged: one of its lines is none.
    """

    line_count: int = 0
    last_us: int = 0
    kinds: dict[int, int] = {}
    declarations: list[tuple[int, bytes]] = []
    offsets: bytes = b""
    damaged: bool = False


class _Judged(msgspec.Struct, frozen=True):
    """What a task has found."""

    accused: Accused
    undecided: dict[str, int]


def judge_at_large(spark: SparkSession, path: Path, excerpts: int) -> DrillVerdict:
    """Judges a history that every worker can read under its path.

    Raises:
        NotFoundError, StorageError: there is no such file, or it cannot be read.
        BadInputError: it is no history, or contradicts itself.
    """
    from mqctl.spark.judging import by_owner, each_split

    file = HistoryFile(path)
    splits = list(file.splits(_SPLIT_BYTES))
    checker = Checker(path, excerpts, file=file)
    first_lines: list[int] = []
    line = 2
    for split, answer in zip(splits, each_split(spark, splits, partial(_summed, path)), strict=True):
        part = msgspec.msgpack.decode(answer, type=_Summed)
        if part.damaged:
            piece_of(file.text(split[1], split[2]), line)
            raise BadInputError(
                sentence("drill-could-not-read-history", "could not read the history from line {line} on", line=line),
                reason=sentence("drill-changes-while-read", "it changes while it is read"),
            )
        first_lines.append(line)
        for number, raw in part.declarations:
            where = line + number - 1
            checker.declared(where, raw, read_declaration(raw[1:], where))
        offsets = np.frombuffer(part.offsets, np.int64).reshape(-1, _WIDTH).copy()
        offsets[:, At.LINE] += line - 1
        checker.counted(part.kinds, part.last_us, offsets)
        line += part.line_count
    accusations = checker.accusations()
    rows_of = partial(_rows_of, path, first_lines)
    judge = partial(_judged, checker.course, checker.committed, excerpts)
    answers = by_owner(spark, splits, rows_of, _WIDTH, judge)
    judged = [msgspec.msgpack.decode(each, type=_Judged) for each in answers]
    accusations.add([each.accused for each in judged])
    undecided = {
        reader.name: sum(each.undecided.get(reader.name, 0) for each in judged) for reader in checker.course.readers()
    }
    return checker.verdict({name: count for name, count in undecided.items() if count})


def _summed(path: Path, split: Split) -> bytes:
    text = HistoryFile(path).text(split[1], split[2])
    try:
        piece = piece_of(text, 1)
    except BadInputError:
        return msgspec.msgpack.encode(_Summed(damaged=True), enc_hook=encoded)
    kinds = piece.rows[:, At.KIND]
    names, counts = np.unique(kinds, return_counts=True)
    return msgspec.msgpack.encode(
        _Summed(
            line_count=text.count(b"\n"),
            last_us=int(piece.rows[:, At.TIME].max()) if len(piece.rows) else 0,
            kinds=dict(zip(names.tolist(), counts.tolist(), strict=True)),
            declarations=[(line, raw) for line, raw, _ in piece.declarations],
            offsets=piece.rows[kinds == Kind.OFFSET].tobytes(),
        ),
        enc_hook=encoded,
    )


def _rows_of(path: Path, first_lines: Sequence[int], split: Split) -> Iterator[tuple[int, Rows, Rows, Rows]]:
    return dealt(piece_of(HistoryFile(path).text(split[1], split[2]), first_lines[split[0]]).rows)


def _judged(
    course: Course,
    committed: dict[tuple[int, int], CommittedOffsets],
    excerpts: int,
    blocks: Iterator[tuple[Block, Rows]],
) -> bytes:
    accusations = Accusations(course, excerpts)
    by_message = MessageJudge(course, accusations, committed)
    by_queue = QueueJudge(course, accusations, committed)
    for (role, owner, block), rows in blocks:
        accusations.at = (role, owner, block)
        if role == JudgedBy.MESSAGES:
            by_message.judge(owner, rows, block << block_bits())
        else:
            by_queue.judge(owner, rows)
    return msgspec.msgpack.encode(
        _Judged(accused=accusations.accused(), undecided=dict(by_message.undecided)), enc_hook=encoded
    )
