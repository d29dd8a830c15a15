"""What findings and rules say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqctl.lag.words import BOUNDS, CURES, NEXT_OF_CAUSE, REMEDIES, cause_said
from mqctl.model.command_line import command_line
from mqctl.model.finding_words import finding_value
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import composed, sentence
from mqctl.units import Stand

if TYPE_CHECKING:  # who says no finding needs no rules
    from mqctl.model.finding import Finding, Value
    from mqctl.rules.engine.rule import RuleTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingTexts:
    """The sentences of one finding; `advice_command` is the command in the advice, where there is one."""

    what: str
    effect: str
    advice: str
    next_command: str | None
    advice_command: str | None = None


def sentences(finding: Finding, source: str = "--store DIR") -> FindingTexts:
    """Returns the sentences of a finding.

    Args:
        source: the option that names the evidence, for the next command.
    """
    texts = _texts(finding.code)
    known = {**finding.params, **{item.name: item.value for item in finding.evidence}}
    # What is unknown is shown as what to fill in.
    words: dict[str, str | list[str]] = {
        name: name.upper() if value is None else str(value) for name, value in known.items()
    }
    offline = source.startswith(("--store", "--snapshot"))
    command = texts.next_command if offline or texts.live_command is None else texts.live_command
    values = _values(finding, known)
    advised = command_line(texts.command, **words) if texts.command else None
    if advised:
        values["command"] = advised
    what = texts.said(finding.code, "what", values, finding.variant)
    advice = texts.said(finding.code, "advice", values, finding.variant)
    if cause := finding.params.get("cause"):
        what = sentence("finding-and-cause", "{what} {cause}", what=what, cause=cause_said(str(cause), known))
        advice = CURES[str(cause)]
        command = NEXT_OF_CAUSE.get(str(cause)) or command
    words["source"] = shlex.split(_source_for(command or "", source))
    return FindingTexts(
        what=what,
        effect=texts.said(finding.code, "effect", values),
        advice=advice,
        next_command=command_line(command, **words) if command else None,
        advice_command=None if finding.params.get("cause") else advised,
    )


def title(code: str) -> str:
    """Returns the title of a rule."""
    return _texts(code).said(code, "title", {})


def explain(code: str) -> list[str]:
    """Returns the explanation of a rule in lines: what it looks at, what it means, what helps."""
    texts = _texts(code)
    names = re.findall(r"\{(\w+)", texts.advice)
    # Nobody has numbers for the places yet.
    places: dict[str, object] = {name: Stand(f"<{name}>") for name in names}
    if texts.command:
        places["command"] = re.sub(r"\{(\w+)\}", r"<\1>", texts.command)
    advice = texts.said(code, "advice", places)
    return [
        texts.said(code, "explain", {}),
        "",
        composed("{label}: {advice}", label=sentence("finding-advice", "advice"), advice=advice),
    ]


def evidence_text(finding: Finding) -> list[str]:
    """Returns a finding's numbers, one a line."""
    return [
        composed("{name} = {value}", name=item.name, value=finding_value(item.name, item.value))
        for item in finding.evidence
    ]


def _texts(code: str) -> RuleTexts:
    from mqctl.rules import RULES

    return RULES[code].texts


def _values(finding: Finding, known: Mapping[str, Value]) -> dict[str, object]:
    values: dict[str, object] = {name: finding_value(name, value) for name, value in known.items()}
    if bound := finding.params.get("bound_word"):
        values["bound_word"] = BOUNDS[str(bound)]
    if remedies := finding.params.get("remedy_words"):
        values["remedy_words"] = tuple(REMEDIES[name] for name in str(remedies).split(","))
    if members := values.get("process"):  # what is said of threads is said of the process, not of one member in it
        values["client"] = sentence("finding-one-process", "one process (members {members})", members=members)
    return values


_ASK_PROXIES = (
    "mqctl doctor ",
    "mqctl group list ",
    "mqctl group members ",
    "mqctl group lag ",
    "mqctl group describe ",
    "mqctl stacks dump ",
)


def _source_for(command: str, source: str) -> str:
    """Returns the option that names the evidence as `command` takes it.

    Some commands read stores only, some ask a live cluster only: what a snapshot shows leads there as well.
    """
    if not command.startswith(_ASK_PROXIES):
        source = source.partition(" --proxy ")[0]
    if command.startswith(("mqctl store ", "mqctl report ")):
        return source if source.startswith("--store") else "--store DIR"
    if command.startswith(("mqctl dlq ", "mqctl offset ")):
        return "" if source.startswith(("--store", "--snapshot")) else source
    return "" if source.startswith("--store") and not command.startswith(_TAKE_STORES) else source


_TAKE_STORES = tuple(
    f"mqctl {words}"
    for words in (
        "delay ", "doctor", "group describe", "group lag", "ha compare", "order check", "snapshot save",
        "transaction list", "transaction show",
    )
)  # fmt: skip
