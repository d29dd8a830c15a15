"""Results of `mqctl check` for people, and in the words of CI systems and monitors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from xml.etree import ElementTree

from mqctl.model.command_line import command_line
from mqctl.model.expectation import CheckResult, CheckState
from mqctl.model.gap import Cause
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.severity_words import VERDICTS
from mqctl.text import Word, argv_of, composed, joined, printable, sentence


class CheckFormat(StrEnum):
    """Forms that CI systems and monitors read."""

    JUNIT = "junit"
    NAGIOS = "nagios"
    PROMETHEUS = "prometheus"
    GITHUB = "github"


_COLUMNS = (
    Column("state", "state", CellKind.SEVERITY),
    Column("subject", "of"),
    Column("check", "check"),
    Column("message", "found", CellKind.SENTENCE),
)
_NEXT_SHOWN = 3
_READ = 50
_NAGIOS = {
    CheckState.OK: "OK",
    CheckState.WARNING: "WARNING",
    CheckState.ERROR: "CRITICAL",
    CheckState.UNKNOWN: "UNKNOWN",
}
_NUMBER = {CheckState.OK: 0, CheckState.WARNING: 1, CheckState.ERROR: 2, CheckState.UNKNOWN: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Machine form of `check`."""

    state: str
    observed_at_ms: int
    results: list[CheckResult]


def check_document(results: Sequence[CheckResult], state: CheckState, observed_at_ms: int) -> Document:
    """Shows what did not hold first, and of numbers that which is farthest beyond its limit."""
    order = (CheckState.ERROR, CheckState.UNKNOWN, CheckState.WARNING, CheckState.OK)
    rows = sorted(results, key=lambda item: (order.index(item.state), -_share_of_limit(item)))
    return Document(
        schema="check/1",
        value=CheckReport(state=str(state), observed_at_ms=observed_at_ms, results=list(results)),
        records=results,
        blocks=[
            Paragraphs(
                [
                    sentence("check-head", "{state}: {counts}", state=VERDICTS[str(state)], counts=_counts(results)),
                    *_by_kind(results),
                ],
                severity=str(state),
            ),
            Table(_COLUMNS, rows),
            *_advice(rows),
        ],
    )


def _share_of_limit(item: CheckResult) -> float:
    limit = item.limit.warning if item.limit.error is None else item.limit.error
    return 0 if item.value is None or limit is None else item.value / max(limit, 1)


# Check -> the playbook or command that deals with it; `{name}` is that of the subject, `{broker}` its option.
_NEXT = {
    "lag": "playbook run backlog -p group={name}",
    "lag_time": "playbook run backlog -p group={name}",
    "members": "playbook run unconsumed-queue -p group={name}",
    "subscribes": "playbook run tag-loss -p group={name}",
    "dead_letters": "playbook run dead-letters -p group={name}",
    "dead_letter_growth": "playbook run dead-letters -p group={name}",
    "answers": "playbook run broker-down {broker}",
    "registered": "playbook run broker-down {broker}",
    "known": "doctor",
    "delay_overdue": "playbook run delay-late",
    "disk": "broker describe {name}",
    "slaves": "ha status {name}",
    "slave_behind": "ha status {name}",
    "cluster": "cluster list",
    "exists": "{kind} list",
    "brokers": "broker list",
    "queues": "topic describe -t {name}",
    "perm": "topic describe -t {name}",
    "silent_for": "topic traffic -t {name}",
}


def with_next(results: Sequence[CheckResult], snapshot: ClusterSnapshot) -> tuple[CheckResult, ...]:
    """Adds what to type next to what does not hold; a saved snapshot gets commands for its cluster, unaddressed.

    What access control refused gets none: no playbook helps whoever has the wrong keys.
    """
    origin = snapshot.origin
    where = ["--namesrv", origin.location] if origin.kind is OriginKind.LIVE and not origin.archive else []
    return tuple(
        item
        if item.state is CheckState.OK or (item.gap is not None and item.gap.is_denied)
        else replace(item, next_command=(line := _next(item, where)), next_command_argv=argv_of(line))
        for item in results
    )


def _next(item: CheckResult, where: Sequence[str]) -> str:
    """Returns the command that deals with it: of what is unknown because a broker is silent or gone, the broker's."""
    gap = item.gap
    broker = gap.broker if gap is not None and gap.cause in (Cause.SILENT, Cause.UNREGISTERED) else None
    command = _NEXT["answers" if broker is not None else item.check]
    if broker is None and item.kind == "broker":
        broker = item.name
    option = ["-p", f"broker={broker}"] if broker is not None else []
    template = f"mqctl {command} {{where}}"
    return command_line(template, kind=item.kind, name=item.name or "", broker=option, where=where)


def formatted(results: Sequence[CheckResult], state: CheckState, form: CheckFormat, suite: str = "mqctl check") -> str:
    """Returns the results in one of the forms, with a final line end; `suite` is what JUnit and GitHub call them."""
    match form:
        case CheckFormat.JUNIT:
            return junit(results, suite)
        case CheckFormat.NAGIOS:
            return nagios(results, state)
        case CheckFormat.PROMETHEUS:
            return prometheus(results)
        case CheckFormat.GITHUB:
            return github(results, suite)


def _advice(rows: Sequence[CheckResult]) -> list[Paragraphs]:
    """What to type next, of many only about the worst of each kind of check; machine forms say it of each."""
    first: dict[str, str] = {}
    every: dict[str, None] = {}
    for item in rows:
        if item.next_command:
            line = sentence("next-line", "next: {command}", command=item.next_command)
            first.setdefault(item.check, line)
            every.setdefault(line)
    lines = [*every] if len(every) <= _NEXT_SHOWN else list(dict.fromkeys(first.values()))
    return [Paragraphs(lines)] if lines else []


def _by_kind(results: Sequence[CheckResult]) -> list[str]:
    """Says of each kind of check how many do not hold, where there are more than anybody reads."""
    if len(results) <= _READ:
        return []
    kinds = Counter(item.check for item in results)
    bad = Counter(item.check for item in results if item.state is not CheckState.OK)
    lines = (
        sentence(
            "check-kind-fails", "{kind}: {bad:,} of {count:,} not held", kind=kind, bad=bad[kind], count=kinds[kind]
        )
        for kind in kinds
        if bad[kind]
    )
    return [joined(", ", lines)]


def _counts(results: Sequence[CheckResult]) -> str:
    counts = Counter(item.state for item in results)
    states = (
        composed("{count:,} {state}", count=counts[state], state=Word(state)) for state in CheckState if counts[state]
    )
    return joined(", ", [sentence("check-expectations", "{count:expectation}", count=len(results)), *states])


def junit(results: Sequence[CheckResult], name: str) -> str:
    """A test case for each expectation; what is unknown is an error, a warning a failure of its own type."""
    counts = Counter(item.state for item in results)
    failures = counts[CheckState.WARNING] + counts[CheckState.ERROR]
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(results)),
        failures=str(failures),
        errors=str(counts[CheckState.UNKNOWN]),
    )
    for item in results:
        case = ElementTree.SubElement(suite, "testcase", classname=printable(item.subject), name=item.check)
        said = printable(item.message)
        if item.state is CheckState.UNKNOWN:
            ElementTree.SubElement(case, "error", type="unknown", message=said)
        elif item.state is not CheckState.OK:
            ElementTree.SubElement(case, "failure", type=str(item.state), message=said)
        if item.next_command:
            case[-1].text = f"next: {printable(item.next_command)}"
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def nagios(results: Sequence[CheckResult], state: CheckState) -> str:
    """One line with performance data, then a line for each expectation that does not hold."""
    data = " ".join(_perfdata(item) for item in results if item.value is not None)
    bad = [item for item in results if item.state is not CheckState.OK]
    lines = [f"MQCTL {_NAGIOS[state]} - {_counts(results)}" + (f" | {data}" if data else "")]
    lines += [
        f"{_NAGIOS[item.state]}: {_one_line(item.subject)} {item.check}: {_one_line(item.message)}" for item in bad
    ]
    return "\n".join(lines) + "\n"


def _perfdata(item: CheckResult) -> str:
    label = printable(f"{item.subject} {item.check}").replace("'", "").replace("=", "_")
    unit = "ms" if item.unit == "ms" else ""
    limits = (item.limit.warning, item.limit.error)
    warning, critical = ("" if value is None else f"{value:g}" for value in limits)
    return f"'{label}'={item.value:g}{unit};{warning};{critical}"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split()).replace("|", "/")


def prometheus(results: Sequence[CheckResult]) -> str:
    """States (0 ok, 1 warning, 2 error, 3 unknown) and the numbers behind them, in the text format 0.0.4."""
    lines = [
        "# HELP mqctl_check_state 0 ok, 1 warning, 2 error, 3 unknown",
        "# TYPE mqctl_check_state gauge",
        *(f"mqctl_check_state{{{_labels(item)}}} {_NUMBER[item.state]}" for item in results),
        "# HELP mqctl_check_value what was found; milliseconds, shares or counts",
        "# TYPE mqctl_check_value gauge",
        *(f"mqctl_check_value{{{_labels(item)}}} {item.value:g}" for item in results if item.value is not None),
    ]
    return "\n".join(lines) + "\n"


def _labels(item: CheckResult) -> str:
    fields = {"subject": item.subject, "check": item.check, "unit": item.unit}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in fields.items())


def _escaped(text: str) -> str:
    safe = "\n".join(map(printable, text.split("\n")))
    return safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def github(results: Sequence[CheckResult], name: str) -> str:
    """An annotation for each expectation that does not hold; GitHub Actions shows them beside the run."""
    kinds = {CheckState.WARNING: "warning", CheckState.ERROR: "error", CheckState.UNKNOWN: "error"}
    bad = [item for item in results if item.state is not CheckState.OK]
    lines = [f"::{kinds[item.state]} title={_property(_title(item))}::{_said(item)}" for item in bad]
    return "\n".join([*lines, f"::notice title={name}::{_data(_counts(results))}"]) + "\n"


def _title(item: CheckResult) -> str:
    return f"{item.subject} {item.check}"


def _said(item: CheckResult) -> str:
    lines = [f"{item.state}: {item.message}", *([f"next: {item.next_command}"] if item.next_command else [])]
    return "%0A".join(map(_data, lines))


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
