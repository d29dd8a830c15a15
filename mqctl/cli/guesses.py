"""Words that somebody types for a command that has another name here: mqadmin's, and the natural guesses."""

from __future__ import annotations

import re
from difflib import get_close_matches

from mqctl.cli import catalog
from mqctl.cli.carried import Load, carried, left_out
from mqctl.errors import UsageError
from mqctl.model.command_line import shell_words
from mqctl.text import joined, sentence

_OURS: dict[tuple[str, ...], str] = {
    ("delay", "list"): "delay levels",
    ("delay", "show"): "delay levels",
    ("delay", "find"): "message get -t TOPIC",
    ("offset", "list"): "group lag --by queue",
    ("offset", "show"): "group lag --by queue",
    ("topic", "queues"): "topic describe",
    ("topic", "show"): "topic describe",
    ("topic", "consumers"): "topic describe",
    ("topic", "owners"): "topic describe",
    ("topic", "owner"): "topic describe",
    ("topic", "lag"): "group lag -t",
    ("topic", "set"): "topic update",
    ("topic", "alter"): "topic update",
    ("topic", "scale"): "topic update",
    ("topic", "messages"): "message peek",
    ("group", "show"): "group describe",
    ("group", "queues"): "group lag --by queue",
    ("group", "consumers"): "group members",
    ("group", "owners"): "allocation show",
    ("group", "topics"): "subscription check",
    ("group", "subscriptions"): "subscription check",
    ("group", "offsets"): "group lag --by queue",
    ("group", "stacks"): "stacks dump",
    ("group", "reset"): "offset reset",
    ("group", "wait"): "group lag --until lag<1",
    ("allocation", "list"): "allocation show",
    ("consumer", "list"): "group list",
    ("consumer", "lag"): "group lag",
    ("consumer", "members"): "group members",
    ("broker", "show"): "broker describe",
    ("broker", "status"): "broker describe",
    ("cluster", "show"): "cluster describe",
    ("cluster", "status"): "cluster describe",
    ("local", "kill"): "local stop --kill",
    ("local", "kill-broker"): "local stop --kill",
    ("local", "stop-broker"): "local stop",
    ("local", "start-broker"): "local start",
    ("local", "restart"): "local start",
    ("local", "list"): "local status",
    ("message", "show"): "message get",
    ("message", "list"): "message peek",
    ("message", "query"): "message get -t TOPIC",
    ("message", "search"): "message get -t TOPIC",
    ("message", "key"): "message get -t TOPIC",
    ("member", "stacks"): "stacks dump",
    ("members", "stacks"): "stacks dump",
    ("client", "stacks"): "stacks dump",
    ("transaction", "pending"): "transaction list",
    ("snapshot", "create"): "snapshot save",
    ("snapshot", "take"): "snapshot save",
    ("snapshot", "open"): "snapshot show",
    ("snapshot", "load"): "snapshot show",
    ("report", "html"): "doctor --html FILE",
    ("nameserver", "list"): "cluster describe",
    ("dead", "letters"): "dlq list",
    ("-v",): "--version",
    ("status",): "cluster describe",
    ("overview",): "doctor",
    ("summary",): "doctor",
    ("health",): "doctor",
    ("diagnose",): "doctor",
    ("diagnosis",): "doctor",
    ("why",): "doctor",
    ("analyze",): "doctor",
    ("investigate",): "doctor",
    ("wait",): "group lag --until lag<1",
    ("await",): "group lag --until lag<1",
    ("backlog",): "group lag --min-lag 1",
    ("members",): "group members",
    ("consumers",): "group members",
    ("clients",): "group members",
    ("rebalance",): "allocation show",
    ("queues",): "topic describe",
    ("trace",): "message trace",
    ("find",): "message get",
    ("threads",): "stacks dump",
    ("jstack",): "stacks dump",
    ("delayed",): "delay levels",
    ("pending",): "transaction list",
    ("reset",): "offset reset",
    ("metrics",): "export prometheus --once",
    ("prometheus",): "export prometheus --once",
    ("html",): "doctor --html FILE",
    ("page",): "doctor --html FILE",
    ("ticket",): "doctor --html FILE",
}
_OF_A_NAME = {
    "allocation": "allocation show",
    "broker": "broker describe",
    "dlq": "dlq list",
    "group": "group describe",
    "lock": "lock show",
    "message": "message get -t TOPIC",
    "offset": "group lag --by queue",
    "replay": "offset reset --by-duration 10m | replay group",
    "report": "report run --store DIR -g",
    "retry": "retry list",
    "stacks": "stacks dump",
    "subscription": "subscription check",
    "topic": "topic describe",
    "transaction": "transaction show",
}
"""What somebody wants who types a noun and a name."""

_NAMES = frozenset({"-g", "--group", "-t", "--topic"})
_OF_ROOT = frozenset({"-h", "--help", "-v", "-V", "--version"})
_RULE = re.compile("MQ[0-9]{3}", re.IGNORECASE)
_MESSAGE_ID = re.compile("[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56}")
_ALIKE = 0.7  # of difflib: what is nearer to a verb is a slip of the fingers, not a name


def refuse_guess(path: tuple[str, ...], words: list[str], load: Load) -> None:
    """Raises UsageError with the command to type, when `words` after `path` are known under another name.

    Args:
        load: builds the command at a path of the catalog.
    """
    name, *rest = words
    if name.startswith("-") and name not in _OF_ROOT:
        from mqctl.cli.bare_words import refuse_option

        verb = _OF_A_NAME.get(path[0]) if path and any(word in _NAMES for word in words) else None
        refuse_option(path, words, verb, load)
    if not path and name == "mqadmin" and rest:
        name, *rest = words = rest
    typed = " ".join((*path, name))
    if (ours := _OURS.get((*path, *words[:2]))) and len(words) > 1:
        typed, rest = " ".join((*path, *words[:2])), rest[1:]
    else:
        ours = _OURS.get((*path, name))
    if ours is None:
        typed, ours, rest = _turned(path, typed, words)
    if ours:
        meant = carried(ours, rest, load)
        quoted, own = f"`{typed}`", f"`{meant.command}`"  # in backticks no word of theirs is translated
        if meant.left_out:
            lost = shell_words(meant.left_out)
            raise UsageError(
                sentence("cli-no-command", "no command {quoted}", quoted=quoted),
                reason=sentence(
                    "cli-without-counterpart",
                    "in mqctl it is {own}; without a counterpart: {lost}",
                    own=own,
                    lost=lost,
                ),
                remedy=meant.line,
            )
        raise UsageError(
            sentence("cli-no-command", "no command {quoted}", quoted=quoted),
            reason=sentence("cli-own", "in mqctl it is {own}", own=own),
            remedy=meant.line,
        )
    if name.startswith("-"):
        return
    from mqctl.cli.mqadmin_words import translated

    translation = None if path else translated(name, rest)
    if translation is None:
        from mqctl.cli.bare_words import refuse_name

        refuse_name(path, words, load)
        return
    reasons = [translation.entry.note] if translation.entry.note else []
    reasons += filter(None, [left_out(translation.left_out)])
    raise UsageError(
        sentence("cli-command-mqadmin", "{name} is a command of mqadmin", name=translation.entry.name)
        if translation.command
        else sentence(
            "cli-command-mqadmin-not-offer",
            "{name} is a command of mqadmin that mqctl does not offer",
            name=translation.entry.name,
        ),
        reason=joined("; ", reasons) if reasons else "",
        remedy=translation.command
        or sentence(
            "cli-commands-mqadmin-all-lists-offers", "`mqctl commands --mqadmin all` lists what mqctl offers for each"
        ),
    )


def _turned(path: tuple[str, ...], typed: str, words: list[str]) -> tuple[str, str | None, list[str]]:
    """Reads a plural as a list, `lag G` as the one command that ends so, `describe topic T` the other way round.

    Returns:
        What was typed, the command that it stands for, and what is left of the words; no command where none fits.
    """
    name, *rest = words
    if path in (("rules",), ()) and _RULE.fullmatch(name):
        return typed, "explain", [name.upper(), *rest]
    if path:
        verbs = catalog.children(path)
        near = get_close_matches(name, verbs, cutoff=_ALIKE) and name != f"{path[0]}s"
        two = bool(rest) and not rest[0].startswith("-")  # of two words the first is no name
        wanted = None if near or two or name.startswith("-") else _OF_A_NAME.get(path[0])
        if path == ("message",) and _MESSAGE_ID.fullmatch(name):
            wanted = "message get"
        return typed, wanted, words
    singular = name.removesuffix("s")
    if (singular, "list") in catalog.BY_PATH:
        return typed, f"{singular} list", rest
    if rest and (noun := rest[0].removesuffix("s")) in catalog.GROUPS:
        verb = "list" if name == "get" and rest[0] != noun else {"get": "describe", "show": "describe"}.get(name, name)
        if (noun, verb) in catalog.BY_PATH:
            return f"{name} {rest[0]}", f"{noun} {verb}", rest[1:]
    ends = [place for place in catalog.BY_PATH if place[-1] == name and place[0] != "store"]
    return typed, " ".join(ends[0]) if len(ends) == 1 else None, rest
