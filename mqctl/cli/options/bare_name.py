"""A bare name where one noun is meant: `group lag orders` is `group lag -g orders`.

Which commands take one is a table of words, so that the Tab reads it without typer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqctl.errors import UsageError
from mqctl.model.command_line import shell_words
from mqctl.text import sentence

if TYPE_CHECKING:
    from typer.core import TyperCommand

_BY_NOUN = {
    "allocation": "--group",
    "dlq": "--group",
    "doctor": "--group",
    "group": "--group",
    "lock": "--group",
    "message": "--topic",
    "offset": "--group",
    "order": "--topic",
    "producer": "--group",
    "retry": "--group",
    "stacks": "--group",
    "subscription": "--group",
    "topic": "--topic",
    "transaction": "--group",
}
_BY_COMMAND = {
    "allocation simulate": "",  # begins with a group or with numbers: either may be meant
    "message get": "--id",
    "replay group": "--group",
}
BARE_NAME = "bare_name"
_NO_NAME = re.compile("[./]")
"""What a path has, and no group or topic."""


def bare_option(command: str) -> str:
    """Returns the option that a bare name of `command` ("group lag") stands for, empty for none."""
    return _BY_COMMAND.get(command, _BY_NOUN.get(command.partition(" ")[0], ""))


def add_bare_name(command: TyperCommand, words: str) -> None:
    """Lets the command called `words` take its noun without an option, when it has the option and no argument."""
    from typer.core import TyperArgument

    meant = next((one for one in command.params if bare_option(words) in one.opts), None)
    if meant is None or any(one.param_type_name == "argument" for one in command.params):
        return
    several = bool(getattr(meant, "multiple", False))
    noun = bare_option(words).removeprefix("--")
    bare = TyperArgument(
        param_decls=[BARE_NAME],
        type=str,
        required=False,
        nargs=-1 if several else 1,
        metavar=f"[{noun.upper()}]" + ("..." if several else ""),
        expose_value=False,
        help=f"The same as {meant.opts[0]}.",
    )
    bare.opts = [noun]  # what help and reference call it; its own name must not be the option's
    command.params.append(bare)


def with_option(command: TyperCommand, context: Any, words: list[str]) -> list[str]:
    """Returns a command line with its bare names put behind the option they stand for. Raises UsageError."""
    option = next((one for one in command.params if one.name == BARE_NAME), None)
    if option is None or context.resilient_parsing:
        return words
    given, more, _ = command.make_parser(context).parse_args(args=list(words))
    bare = _texts(given.get(BARE_NAME))
    if not bare:
        return words
    _refuse_file(command, context, words, [*bare, *more])
    words = _with_topic(command, given, more, words)
    word = f"--{option.opts[0]}"
    meant = next(one for one in command.params if word in one.opts)
    named = _texts(given.get(meant.name or ""))
    if not named:
        return [*(text for name in bare for text in (word, name)), *words]
    if set(named) != set(bare):
        raise UsageError(
            sentence(
                "cli-two-answers",
                "two answers to {word}: {bare} and {word_2} {named}",
                word=word,
                bare=" ".join(bare),
                word_2=word,
                named=" ".join(named),
            ),
            reason=sentence("cli-bare-name-means", "a bare name means {word}", word=word),
            remedy=sentence("cli-give-once", "give it once"),
        )
    return words


def _with_topic(command: TyperCommand, given: Mapping[str, object], more: list[str], words: list[str]) -> list[str]:
    """Puts a second bare name behind --topic: `offset reset billing orders`, `message get KEY orders`."""
    topic = next((one for one in command.params if "--topic" in one.opts), None)
    if len(more) != 1 or topic is None or _noun(command) == "topic" or _texts(given.get(topic.name or "")):
        return words
    place = len(words) - 1 - words[::-1].index(more[0])
    return ["--topic", more[0], *words[:place], *words[place + 1 :]]


def _refuse_file(command: TyperCommand, context: Any, words: list[str], names: list[str]) -> None:
    """Raises UsageError with the line to type when a name is that of a file, and the command reads snapshots."""
    file = next((name for name in names if _NO_NAME.search(name) and Path(name).is_file()), None)
    if file is not None and any("--snapshot" in one.opts for one in command.params):
        place = words.index(file)
        line = [*context.command_path.split(), *words[:place], "--snapshot", file, *words[place + 1 :]]
        raise UsageError(
            sentence("cli-file-not", "{file} is a file, not a {noun}", file=file, noun=_noun(command)),
            remedy=shell_words(line),
        )


def _noun(command: TyperCommand) -> str:
    return str(next(one for one in command.params if one.name == BARE_NAME).opts[0])


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []
