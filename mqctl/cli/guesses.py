"""Words that somebody types for a command that has another name here: mqadmin's, and the natural guesses."""

from __future__ import annotations

import shlex

from mqctl.errors import UsageError

_OURS: dict[tuple[str, ...], str] = {
    ("delay", "list"): "delay backlog",
    ("delay", "show"): "delay backlog",
    ("offset", "list"): "group lag --by queue",
    ("offset", "show"): "group lag --by queue",
    ("topic", "queues"): "topic describe",
    ("topic", "show"): "topic describe",
    ("topic", "consumers"): "topic groups",
    ("topic", "owners"): "topic describe",
    ("group", "show"): "group describe",
    ("group", "queues"): "group lag --by queue",
    ("group", "consumers"): "group members",
    ("allocation", "list"): "allocation show",
    ("consumer", "list"): "group list",
    ("consumer", "lag"): "group lag",
    ("consumer", "members"): "group members",
    ("broker", "show"): "broker describe",
    ("cluster", "show"): "cluster describe",
}


def refuse_guess(path: tuple[str, ...], words: list[str]) -> None:
    """Raises UsageError with the command to type, when `words` after `path` are known under another name."""
    name, *rest = words
    typed = " ".join((*path, name))
    if (ours := _OURS.get((*path, *words[:2]))) and len(words) > 1:
        typed, rest = " ".join((*path, *words[:2])), rest[1:]
    else:
        ours = _OURS.get((*path, name))
    if ours:
        quoted, own = f"`{typed}`", f"`{ours}`"  # in backticks no word of theirs is translated
        raise UsageError(
            f"no command {quoted}",
            reason=f"in mqctl it is {own}",
            remedy=shlex.join(["mqctl", *ours.split(), *rest]),
        )
    if path or name.startswith("-"):
        return
    from mqctl.cli.mqadmin_words import translated

    translation = translated(name, rest)
    if translation is None:
        return
    reasons = [translation.entry.note] if translation.entry.note else []
    if translation.left_out:
        reasons.append(f"without a counterpart: {shlex.join(translation.left_out)}")
    raise UsageError(
        f"{translation.entry.name} is a command of mqadmin"
        + ("" if translation.command else " that mqctl does not offer"),
        reason="; ".join(reasons),
        remedy=translation.command or "`mqctl commands --mqadmin all` lists what mqctl offers for each",
    )
