"""Findings of one rule, told together: the worst of them by name, and how many more there are."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import field, replace
from typing import Any

from mqctl.model.command_line import command_line
from mqctl.model.finding import Evidence, Finding, Severity, Value
from mqctl.model.lag import coarse
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Paragraphs
from mqctl.render.finding_texts import sentences, title
from mqctl.render.severity_words import VERDICTS
from mqctl.text import composed, printable, sentence

_APART = 3
"""So many findings of one rule are told each by itself."""
_NAMED = 10
_OFFLINE_NAMED = 3
"""Of groups of which nobody is online: more of them tell no more."""
_TOLD_ONCE = ("code", "severity", "effect", "advice", "next_command", "playbook_command")
_WORSE_BY = (
    "lag_ms",
    "late_ms",
    "lost_count",
    "lag_count",
    "waiting_count",
    "skipped_count",
    "idle_ms",
    "message_count",
)
"""Evidence by which one finding of a rule is worse than another of the same severity, the first that both have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """A finding with its sentences; codes, names and numbers do not depend on the language.

    Attributes:
        key: of what is wrong: the code, with a variant where the rule has several sentences.
        values: the values of all its sentences; `names` and `evidence` have them apart.
        next_command_argv, playbook_command_argv: the words of both commands.
        advice_argv: the words of the command in the advice, where there is one.
        consume_mode: of the group it is about, `POP` or `PULL`, both where it differs by topic; None without a group,
            or where it is not known.
    """

    code: str
    severity: str
    subject: str
    confidence: str
    playbook: str | None
    what: str
    effect: str
    advice: str
    next_command: str | None
    playbook_command: str | None
    names: dict[str, str | int | float | bool | None]
    evidence: dict[str, str | int | float | bool | None]
    consume_mode: str | None = None
    key: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    next_command_argv: list[str] | None = None
    playbook_command_argv: list[str] | None = None
    advice_argv: list[str] | None = None

    def same_words(self, other: FindingRow) -> bool:
        """Tells whether all but what is wrong is the same as of `other`: it is then told once for both."""
        return all(getattr(self, name) == getattr(other, name) for name in _TOLD_ONCE)

    @property
    def about(self) -> str:
        """The subject, with the mode of a group that pops."""
        return with_mode(self.subject, self.consume_mode)


def with_mode(name: str, mode: str | None) -> str:
    """Returns what a group is called where it pops: who looks at it must not think in queues and their owners."""
    return name if mode in (None, "PULL") else f"{name} ({mode})"


Told = tuple[FindingRow, Finding]


_OF_ALL_BROKERS = frozenset({"MQ401", "MQ406", "MQ720", "MQ721", "MQ722"})
_SUMMED = frozenset(
    {
        "lag_count",
        "queue_count",
        "wanted_count",
        "sampled_count",
        "dead_letter_count",
        "pending_count",
        "discarded_count",
    }
)
_MOST = frozenset({"lag_ms", "oldest_ms", "most_checks_count", "newest_time_ms", "last_time_ms"})


def of_all_brokers(findings: Sequence[Finding]) -> list[Finding]:
    """Joins what one rule found about one group on several brokers, where its numbers can be added up: people look at
    the group. Machines get all of them."""
    alike: dict[object, Finding] = {}
    for number, finding in enumerate(findings):
        one_place = replace(finding.subject, broker=None)
        names = tuple(sorted((name, str(value)) for name, value in finding.params.items()))
        whole = finding.code in _OF_ALL_BROKERS
        key = (finding.code, finding.variant, one_place, names) if whole else number
        known = alike.get(key)
        alike[key] = finding if known is None else _joined(known, replace(finding, subject=one_place))
    return list(alike.values())


def _joined(first: Finding, other: Finding) -> Finding:
    theirs = {item.name: item.value for item in other.evidence}
    evidence = tuple(Evidence(name=item.name, value=_both(item, theirs.get(item.name))) for item in first.evidence)
    severity = max(first.severity, other.severity, key=lambda one: one.rank)
    return replace(first, subject=other.subject, severity=severity, evidence=evidence)


def _both(item: Evidence, value: Value) -> Value:
    """Joins one number of two brokers; what both say alike is of the whole group, and stays."""
    if not isinstance(item.value, int) or not isinstance(value, int):
        return item.value if value is None else value
    if item.name in _SUMMED:
        return item.value + value
    if item.name in _MOST:
        return max(item.value, value)
    return item.value if item.value == value else None


def by_rule(pairs: Sequence[Told], online: Collection[str] = ()) -> list[list[Told]]:
    """Returns what is told in one block each: all findings of a rule that has many and of one cause, the worst first,
    and each finding of the others by itself; the blocks of many stand where the first of their rule stood.

    Args:
        online: groups with members, which come first: somebody can act on them, and of many the ten worst may be all of
            groups that nobody runs.
    """
    rules: dict[str, list[Told]] = {}
    for item in pairs:
        rules.setdefault(item[0].code, []).append(item)
    in_order = {
        code: sorted(alike, key=lambda item: (item[0].names.get("group") not in online, _badness(item)))
        for code, alike in rules.items()
        if len(alike) > _APART or any("cause" in row.names for row, _ in alike)
    }
    blocks: list[list[Told]] = []
    for item in pairs:
        code = item[0].code
        if code not in in_order:
            blocks.append([item])
        elif item is rules[code][0]:
            blocks += _by_cause(in_order[code]) if len(in_order[code]) > _APART else [[one] for one in in_order[code]]
    return blocks


def _by_cause(alike: Sequence[Told]) -> list[list[Told]]:
    causes: dict[object, list[Told]] = {}
    for item in alike:
        causes.setdefault(item[0].names.get("cause"), []).append(item)
    return list(causes.values())


def _badness(item: Told) -> list[float]:
    row, _ = item
    numbers = ((name, row.evidence.get(name)) for name in _WORSE_BY)
    return [
        -Severity(row.severity).rank,
        *(
            0.0 if not isinstance(number, int | float) else -coarse(number) if name.endswith("_ms") else -number
            for name, number in numbers
        ),
    ]


_LABELS = {
    "effect": sentence("finding-effect", "effect"),
    "advice": sentence("finding-advice", "advice"),
    "next": sentence("finding-next", "next"),
    "playbook": sentence("finding-playbook", "playbook"),
    "confidence": sentence("finding-confidence", "confidence"),
}


def label(name: str, text: str) -> str:
    """Returns a line of a finding with what it tells."""
    return composed("  {label}: {text}", label=_LABELS[name], text=text)


def indented(text: str) -> str:
    """Returns a line below the first one of a finding."""
    return composed("  {text}", text=text)


def labelled(row: FindingRow) -> list[str]:
    """Returns what follows from a finding, what to do, and what to type."""
    lines = [label("effect", row.effect), label("advice", row.advice)]
    if row.next_command:
        lines.append(label("next", row.next_command))
    if row.playbook_command:
        lines.append(label("playbook", row.playbook_command))
    return lines


def _effect_of_all(findings: Sequence[Finding], source: str) -> str:
    """Returns the effect of the first finding with the counts and sizes of all of them together."""
    sums: dict[str, int] = {}
    for finding in findings:
        for item in finding.evidence:
            if isinstance(item.value, int) and item.name.endswith(("_count", "_bytes")):
                sums[item.name] = sums.get(item.name, 0) + item.value
    first = findings[0]
    evidence = tuple(replace(item, value=sums.get(item.name, item.value)) for item in first.evidence)
    return sentences(replace(first, evidence=evidence), source).effect


def alike_block(alike: Sequence[Told], online: Collection[str] | None = None, *, source: str) -> Paragraphs:
    """Builds the paragraph of many findings of one rule and cause, in their order.

    The effect is that of all together, the advice that of the first, and what to type next as well, unless nobody is
    online of any: then it is what shows them all.

    Args:
        online: groups with members; None where it is not known who has any.
    """
    worst = alike[0][0]
    nobody = online is not None and worst.names.get("group") not in {None, *online}  # those with members come first
    named = alike[: _OFFLINE_NAMED if nobody else _NAMED]
    severity = max((Severity(row.severity) for row, _ in alike), key=lambda one: one.rank)
    groups = len({row.names["group"] for row, _ in alike if "group" in row.names})
    figures = {"title": title(worst.code), "count": len(alike)}
    count = (
        sentence(
            "doctor-findings-groups-worst-first",
            "{title}: {count:,} findings of {groups:,} groups, worst first",
            groups=groups,
            **figures,
        )
        if 1 < groups < len(alike)
        else sentence("doctor-findings-worst-first", "{title}: {count:,} findings, worst first", **figures)
    )
    lines = [composed("{severity}  {code}  {count}", severity=VERDICTS[severity], code=worst.code, count=count)]
    lines += [indented(row.what) for row, _ in named]
    if len(alike) > len(named):
        more = len(alike) - len(named)
        lines.append(indented(sentence("doctor-more-json-all", "and {count:,} more (-o json for all)", count=more)))
    if worst.names.get("cause") == "offline":
        every = command_line("mqctl group lag {} --sort lag", shlex.split(source))
        worst = replace(worst, next_command=every, playbook_command=None)
    lines += labelled(replace(worst, effect=_effect_of_all([finding for _, finding in alike], source)))
    return Paragraphs([printable(line) for line in lines], severity=severity)
