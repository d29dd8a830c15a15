"""The message catalogue: what findings mean, in English and Chinese.

A language's module is imported when it is asked for. Templates are filled with a finding's names and numbers; numbers
are written by the unit that their name ends in.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mqctl.model.command_line import command_line
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render import units
from mqctl.render.text import printable

if TYPE_CHECKING:  # who says a phrase has no finding
    from mqctl.model.finding import Finding, Value, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One rule in one language.

    Attributes:
        title: what the rule finds, for listings.
        what: template of what is wrong, by variant; the empty variant is the usual one.
        effect: template of what follows from it.
        advice: template of what to do; a command line with places stands in backticks.
        explain: what the rule looks at and why, for `mqctl rules explain`.
        next_command: template of the next command to type (see `command_line`), None when there is none. `{source}`
            stands for the option that names the evidence. The same in all languages, so only English has it.
        live_command: the one for a live cluster, where that is another.
    """

    title: str
    what: Mapping[str, str]
    effect: str
    advice: str
    explain: str
    next_command: str | None = None
    live_command: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """The sentences of one finding."""

    what: str
    effect: str
    advice: str
    next_command: str | None


def _texts(lang: Lang | None) -> Mapping[str, Text]:
    texts: Mapping[str, Text] = importlib.import_module(f"mqctl.render.messages.{lang or Lang.EN}.rules").RULES
    return texts


class Say(Protocol):
    """Fills a sentence of a report."""

    def __call__(self, key: str, /, **values: object) -> str: ...


def sayer(lang: Lang | None, about: str = "reports") -> Say:
    """Returns what says the sentences of reports, of a drill's verdict (`drill`), ... in a language."""
    words: Mapping[str, str] = importlib.import_module(f"mqctl.render.messages.{lang or Lang.EN}.{about}").SENTENCES

    def say(key: str, /, **values: object) -> str:
        return words[key].format_map({name: _countable(value) for name, value in values.items()})

    return say


def phrase(key: str, lang: Lang | None) -> str:
    """Returns a fixed phrase of the report around the findings."""
    sentence: str = importlib.import_module(f"mqctl.render.messages.{lang or Lang.EN}.phrases").PHRASES[key]
    return sentence


def title(code: str, lang: Lang | None) -> str:
    """Returns the title of a rule."""
    return _texts(lang)[code].title


def explain(code: str, lang: Lang | None) -> str:
    """Returns the explanation of a rule: what it looks at, what it means, what helps."""
    text = _texts(lang)[code]
    return "\n".join([text.explain, "", f"{phrase('advice', lang)}: {_template_as_prose(text.advice)}"])


def _template_as_prose(template: str) -> str:
    """Shows a template's places in angle brackets: nobody has numbers for them yet."""
    return re.sub(r"\{(\w+)(?::([\w /]+))?\}", _place_as_prose, template)


def _place_as_prose(place: re.Match[str]) -> str:
    name, words = place[1], place[2] or ""
    if words.startswith("/"):
        return _agreeing(words[1:], single=False)
    return f"<{name}> {_agreeing(words, single=False)}" if words else f"<{name}>"


def sentences(finding: Finding, lang: Lang | None, source: str = "--store DIR") -> RuleText:
    """Returns the sentences of a finding.

    Args:
        source: the option that names the evidence, for the next command.
    """
    text = _texts(lang)[finding.code]
    english = _texts(Lang.EN)[finding.code]
    offline = source.startswith(("--store", "--snapshot"))
    command = english.next_command if offline or english.live_command is None else english.live_command
    what, advice = text.what[finding.variant or ""], text.advice
    if cause := finding.params.get("cause"):
        known = {item.name for item in finding.evidence if item.value is not None}
        what += (" " if lang is not Lang.ZH else "") + cause_template(str(cause), known, lang)
        advice = phrase(f"cure_{cause}", lang)
        command = _command_of_cause(str(cause)) or command
    values, words = _values(finding, lang), _words(finding)
    words["source"] = shlex.split(_source_for(command or "", source))
    return RuleText(
        what=what.format_map(values),
        effect=text.effect.format_map(values),
        advice=_with_commands(advice, values, words),
        next_command=command_line(command, **words) if command else None,
    )


_COMMAND_IN_TEXT = re.compile(r"`(mqctl [^`{]*\{[^`]*)`")


def _with_commands(template: str, values: Mapping[str, str], words: Mapping[str, str | list[str]]) -> str:
    """Fills a sentence; a command line in backticks gets names as shells read them, not as people do."""
    parts = _COMMAND_IN_TEXT.split(template)  # sentence, command, sentence, ...
    parts[::2] = [part.format_map(values) for part in parts[::2]]
    parts[1::2] = [f"`{command_line(part, **words)}`" for part in parts[1::2]]
    return "".join(parts)


def _words(finding: Finding) -> dict[str, str | list[str]]:
    """Returns what fills places of command lines; what is unknown is shown as what to fill in."""
    known = {**finding.params, **{item.name: item.value for item in finding.evidence}}
    return {name: name.upper() if value is None else str(value) for name, value in known.items()}


def cause_template(cause: str, known: Collection[str], lang: Lang | None) -> str:
    """Returns the template of what is said of the cause of a backlog: of its numbers those that are known.

    Args:
        known: names of the numbers that are.
    """
    from mqctl.render.messages.en.backlog import NUMBERS_OF_CAUSE

    numbers = [phrase(f"number_{name}", lang) for name in NUMBERS_OF_CAUSE.get(cause, ()) if name in known]
    said = phrase(f"cause_{cause}", lang)
    if not numbers:
        return said
    first, *others = numbers
    then = "".join(phrase("numbers_then", lang).replace("{other}", other) for other in others)
    more = phrase("numbers", lang).replace("{first}", first[0].upper() + first[1:]).replace("{others}", then)
    return said + more


def _command_of_cause(cause: str) -> str | None:
    """Returns the template of the command to type next where it is known why a group is behind."""
    from mqctl.render.messages.en.backlog import NEXT_OF_CAUSE

    return NEXT_OF_CAUSE.get(cause)


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
        "transaction check", "transaction list", "transaction show",
    )
)  # fmt: skip


def reason(why: Why, lang: Lang | None, more_count: int = 0) -> str:
    """Returns why something was not judged.

    Args:
        more_count: further reasons of the kind, of which only the number is told.
    """
    values = {name: written(name, value, lang) for name, value in why.values.items()}
    sentence = phrase(f"why_{why.reason}", lang).format_map(values)
    return phrase("why_more", lang).format(why=sentence, count=more_count) if more_count else sentence


def evidence_text(finding: Finding, lang: Lang | None) -> list[str]:
    """Returns a finding's numbers, one a line."""
    return [f"{item.name} = {written(item.name, item.value, lang)}" for item in finding.evidence]


class _Counted(str):
    """A written count that can bring its noun and its verb.

    `{lost_count:message}` gives `1 message` or `2 messages`, `{lost_count:message is/are}` brings the verb as well, and
    `{lost_count:/is/are}` gives the verb of a count that the sentence has told before.
    """

    single: bool

    def __new__(cls, text: str, *, single: bool) -> _Counted:
        made = super().__new__(cls, text)
        made.single = single
        return made

    def __format__(self, noun: str) -> str:
        if not noun:
            return str(self)
        if noun.startswith("/"):
            return _agreeing(noun[1:], single=self.single)
        return f"{self} {_agreeing(noun, single=self.single)}"


def _countable(value: object) -> object:
    """Lets a written number bring its noun; sentences that only write it are not touched."""
    text = str(value)
    return _Counted(text, single=text == "1") if text.replace(",", "").isdecimal() else value


def _agreeing(words: str, *, single: bool) -> str:
    """Returns a noun, a verb given as `is/are`, or both, as they go with one or with many."""
    noun, _, verb = words.rpartition(" ") if "/" in words else (words, "", "")
    one, _, many = verb.partition("/")
    return " ".join(filter(None, (noun, one) if single else (noun and _plural(noun), many)))


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"


def _values(finding: Finding, lang: Lang | None) -> dict[str, str]:
    values = {name: written(name, value, lang) for name, value in finding.params.items()}
    if members := values.get("process"):  # what is said of threads is said of the process, not of one member in it
        values["client"] = phrase("one_process", lang).format(members=members)
    return values | {item.name: written(item.name, item.value, lang) for item in finding.evidence}


def _to_the_hour(lang: Lang | None, value_ms: int) -> str:
    """Writes the instant of a forecast: weekday and hour are as much as can be said."""
    weekday, hour = units.to_the_hour(value_ms)
    return phrase("to_the_hour", lang).format(weekday=phrase(f"weekday_{weekday}", lang), hour=hour)


_FORECAST = "_expected_time_ms"
_UNITS = (("_time_ms", units.instant), ("_ms", units.duration), ("_bytes", units.size))
_FRACTIONS = (("_share", units.share), ("_tps", units.rate))


def written(name: str, value: Value, lang: Lang | None) -> str:
    """Writes a number by the unit its name ends in (see `Evidence`); None becomes the word for unknown.

    What a name that ends in `_word` or `_words` holds are keys of phrases: `bound_word` `threads` is `bound_threads`.
    """
    if value is None:
        return _Counted(phrase("unknown", lang), single=False)
    kind, _, ending = name.rpartition("_")
    if ending in ("word", "words"):
        return phrase("comma", lang).join(phrase(f"{kind}_{key}", lang) for key in str(value).split(","))
    if isinstance(value, int) and not isinstance(value, bool):
        if name.endswith("_count"):
            return _Counted(units.count(value), single=value == 1)
        for suffix, write in ((_FORECAST, partial(_to_the_hour, lang)), *_UNITS):
            if name.endswith(suffix):
                return write(value)
    if isinstance(value, float):
        return next((write(value) for suffix, write in _FRACTIONS if name.endswith(suffix)), f"{value:,.4g}")
    return printable(str(value))
