"""Compares two answers part by part, each difference with its place, and tells which ones are allowed."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.sameness.running import Answer

_SHOWN = 160
_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        kind: value, type, gone, new, order, exit, or line for a text.
        place: `stdout.groups[3].lag_count`, `stderr`, `exit`.
        old, new: what is there, as text.
    """

    answer: Answer
    kind: str
    place: str
    old: str
    new: str

    @property
    def pattern(self) -> str:
        """The place, whichever the row."""
        return _INDEX.sub("[*]", self.place)

    @property
    def key(self) -> tuple[object, ...]:
        return self.answer.key, self.kind, self.place


def differences(old: Answer, new: Answer) -> Iterator[Difference]:
    """Gives every difference between two answers to the same line."""
    if old.code != new.code:
        yield Difference(new, "exit", "exit", str(old.code), str(new.code))
    for stream, before, after in (("stdout", old.out, new.out), ("stderr", old.err, new.err)):
        if before != after:
            is_csv = stream == "stdout" and new.variant.startswith("csv")
            parts = list(_compare(stream, _parsed(before, is_csv=is_csv), _parsed(after, is_csv=is_csv)))
            # Both mean the same and are not the same: their layout.
            for kind, place, left, right in parts or _lines(stream, before.splitlines(), after.splitlines()):
                yield Difference(new, kind, place, left, right)


def _parsed(text: str, *, is_csv: bool) -> object:
    """Returns JSON as its value, with what is before it, lines of JSON as a list, CSV as rows by column, other texts
    as themselves."""
    if text[:1] in "{[":
        for read in (json.loads, lambda it: [json.loads(line) for line in it.splitlines()]):
            try:
                return read(text)
            except ValueError:
                continue
    before, start, after = text.partition("\n{")
    if start:  # warnings, and below them the error
        with suppress(ValueError):
            return {"<before>": before, **json.loads("{" + after)}
    if is_csv:
        rows = list(csv.reader(io.StringIO(text)))
        head = rows[0] if rows else []
        if all(len(row) == len(head) for row in rows) and len(set(head)) == len(head):
            return {"columns": head, "rows": [dict(zip(head, row, strict=True)) for row in rows[1:]]}
    return text


_Found = Iterator[tuple[str, str, str, str]]


def _compare(place: str, old: object, new: object) -> _Found:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _compare_objects(place, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(place, old, new)
    elif isinstance(old, str) and isinstance(new, str):
        if "\n" in old or "\n" in new:
            yield from _lines(place, old.splitlines(), new.splitlines())
        elif old != new:
            yield "value", place, _text(old), _text(new)
    elif type(old) is not type(new):
        yield "type", place, _text(old), _text(new)
    elif old != new:
        yield "value", place, _text(old), _text(new)


def _compare_objects(place: str, old: Mapping[str, object], new: Mapping[str, object]) -> _Found:
    for name in [*old, *(name for name in new if name not in old)]:
        inner = f"{place}.{name}"
        if name not in new:
            yield "gone", inner, _text(old[name]), ""
        elif name not in old:
            yield "new", inner, "", _text(new[name])
        else:
            yield from _compare(inner, old[name], new[name])
    common = [name for name in old if name in new]
    if common != [name for name in new if name in old]:
        yield "order", f"{place}{{}}", ", ".join(common), ", ".join(name for name in new if name in old)


def _compare_lists(place: str, old: Sequence[object], new: Sequence[object]) -> _Found:
    """Items are compared by their index; where some came or went, those that are as before keep together."""
    before, after = [json.dumps(item) for item in old], [json.dumps(item) for item in new]
    if before == after:
        return
    if sorted(before) == sorted(after):
        moved = next(number for number, (left, right) in enumerate(zip(before, after, strict=True)) if left != right)
        yield "order", f"{place}[]", f"[{moved}] {before[moved]}", f"[{moved}] {after[moved]}"
        return
    if len(old) == len(new):
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _compare(f"{place}[{number}]", left, right)
        return
    for word, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if word == "equal":
            continue
        both = min(j - i, m - k)
        for number in range(both):
            yield from _compare(f"{place}[{i + number}]", old[i + number], new[k + number])
        for number in range(i + both, j):
            yield "gone", f"{place}[{number}]", before[number], ""
        for number in range(k + both, m):
            yield "new", f"{place}[{number}]", "", after[number]


def _lines(place: str, old: Sequence[str], new: Sequence[str]) -> _Found:
    if list(old) == list(new):  # line ends, or one at the end
        yield "line", f"{place}[-1]", "other line ends", "other line ends"
    for word, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if word == "equal":
            continue
        for number in range(max(j - i, m - k)):
            left = old[i + number] if i + number < j else ""
            right = new[k + number] if k + number < m else ""
            yield "line", f"{place}[{i + number}]", left, right


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_Pattern = str | tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """An entry of `sameness.toml`: differences that are meant, or values that no two runs have alike.

    Attributes:
        command, group, path, variant, kind: patterns, as in a shell, or several of which one has to match; `[*]` is any
            index.
        old, new: patterns of what is there.
    """

    reason: str
    command: _Pattern = "*"
    group: _Pattern = "*"
    path: _Pattern = "*"
    variant: _Pattern = "*"
    kind: _Pattern = "*"
    old: _Pattern = "*"
    new: _Pattern = "*"

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise TypeError(f"an entry needs a reason: {self.label}")

    def covers(self, difference: Difference) -> bool:
        """Tells whether the entry speaks of a difference."""
        return all(
            _matches(text, pattern)
            for text, pattern in (
                (difference.answer.command, self.command),
                (difference.answer.group, self.group),
                (difference.pattern, self.path),
                (difference.answer.variant, self.variant),
                (difference.kind, self.kind),
                (difference.old, self.old),
                (difference.new, self.new),
            )
        )

    @property
    def label(self) -> str:
        named = {name: value for name, value in self.__dict__.items() if value != "*" and name != "reason"}
        return ", ".join(f"{name} = {value}" for name, value in named.items())


def _matches(text: str, pattern: _Pattern) -> bool:
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    return any(fnmatchcase(text, each.replace("[", "[[]")) for each in patterns)


@dataclass(frozen=True)
class Rules:
    """The file `sameness.toml`: the commit that is compared with, and what may differ."""

    base: str
    allowed: tuple[Entry, ...] = ()
    volatile: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Rules:
        """Reads the file. Raises ValueError: it has no base, or an entry without a reason or with a foreign word."""
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        try:
            tables = {name: tuple(_entry(entry) for entry in document.get(name, ())) for name in _TABLES}
            return cls(base=document["base"], **tables)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path.name}: {error}") from error


def _entry(words: Mapping[str, Any]) -> Entry:
    several: Mapping[str, Any] = {name: tuple(it) if isinstance(it, list) else it for name, it in words.items()}
    return Entry(**several)


_TABLES = ("allowed", "volatile")
_OF_VALUES = ("value", "line")
"""What may differ where no two runs are alike: there, too, a field may not go or change its type."""


@dataclass
class Verdict:
    """What a comparison came to.

    Attributes:
        open: differences that no entry allows.
        allowed: how many each entry allows.
        unlike: lines that one tree answered and the other did not.
    """

    open: list[Difference] = field(default_factory=list)
    allowed: dict[Entry, int] = field(default_factory=dict)
    volatile: int = 0
    unlike: list[str] = field(default_factory=list)
    compared: int = 0


def judge(rules: Rules, old: Iterable[Answer], new: Iterable[Answer]) -> Verdict:
    """Compares the answers of both trees."""
    before, after = {answer.key: answer for answer in old}, {answer.key: answer for answer in new}
    verdict = Verdict(allowed=dict.fromkeys(rules.allowed, 0))
    verdict.unlike = sorted(" | ".join(key) for key in before.keys() ^ after.keys())
    for key in [key for key in after if key in before]:
        verdict.compared += 1
        for difference in differences(before[key], after[key]):
            if difference.kind in _OF_VALUES and any(entry.covers(difference) for entry in rules.volatile):
                verdict.volatile += 1
                continue
            entry = next((entry for entry in rules.allowed if entry.covers(difference)), None)
            if entry is None:
                verdict.open.append(difference)
            else:
                verdict.allowed[entry] += 1
    return verdict


def report(found: Sequence[Difference]) -> Iterator[str]:
    """Describes differences, the same ones of many lines as one."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for difference in found:
        same = (difference.kind, difference.pattern, difference.old, difference.new)
        groups.setdefault(same, []).append(difference)
    for (kind, _, old, new), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        first = members[0]
        yield f"{first.answer.command} [{first.answer.variant}; {first.answer.group}]: {kind} {first.place}"
        yield f"    - {_cut(old)}"
        yield f"    + {_cut(new)}"
        yield f"    line: mqctl {first.answer.line}"
        if len(members) > 1:
            commands = sorted({difference.answer.command for difference in members})
            named = ", ".join(commands[:8]) + (f" and {len(commands) - 8} more" if len(commands) > 8 else "")
            yield f"    {len(members)} times, in {named}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def to_json(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """Returns differences as plain values."""
    return [
        {
            "command": it.answer.command,
            "group": it.answer.group,
            "line": it.answer.line,
            "variant": it.answer.variant,
            "kind": it.kind,
            "path": it.place,
            "old": it.old,
            "new": it.new,
        }
        for it in found
    ]
