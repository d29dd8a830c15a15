"""Somebody's words behind a command of ours: what fits is kept or said our way, what does not is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from mqctl.cli import catalog
from mqctl.cli.exit import names_secret
from mqctl.errors import MqctlError
from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

if TYPE_CHECKING:
    from typer.core import TyperCommand

Load = Callable[[catalog.Path], "TyperCommand"]
_FORMATS = frozenset({"--json", "--yaml", "--csv", "--wide"})
_WAITS = frozenset({"--wait", "--wait-for"})
_YES = frozenset({"true", "yes"})
"""What mqadmin's users put behind a switch."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A line to type.

    Attributes:
        command: our command with what belongs to it.
        line: the whole of it, begins with `mqctl`; a word in capitals has to be filled in.
        left_out: words that the command cannot take.
    """

    command: str
    line: str
    left_out: tuple[str, ...]


def carried(commands: str, words: Sequence[str], load: Load) -> Carried:
    """Puts `words` behind one of our commands.

    Args:
        commands: the command with what belongs to it, `group lag --until lag<1`; of several with ` | ` between them
            the first that takes most of the words.
        words: what somebody typed behind a command of another name.
        load: builds the command at a path of the catalog.
    """
    tries = [_carried(command.split(), list(words), load) for command in commands.split(" | ")]
    return min(tries, key=lambda one: len(one.left_out))


def left_out(words: Sequence[str]) -> str:
    """Returns the sentence that names what a line lacks of what was typed; empty where it lacks nothing."""
    if not words:
        return ""
    return sentence("cli-left-out", "without a counterpart: {lost}", lost=shell_words(words))


def _carried(ours: list[str], words: list[str], load: Load) -> Carried:
    length = next((size for size in range(len(ours), 0, -1) if tuple(ours[:size]) in catalog.BY_PATH), 0)
    whole = " ".join(ours)
    if not length:  # `--version`
        return Carried(whole, shell_words(["mqctl", *ours]), tuple(words))
    reading = _Reading(load(tuple(ours[:length])), ours[length:])
    while words:
        reading.take(words)
    reading.complete()
    line = ["mqctl", *ours[:length], *reading.bare, *reading.fixed, *reading.kept]
    return Carried(whole, shell_words(line), reading.lost)


class _Reading:
    """Words, sorted into what a command takes and what it does not."""

    def __init__(self, command: TyperCommand, fixed: list[str]) -> None:
        self._command = command
        self._options: dict[str, Any] = {}
        arguments: list[Any] = []
        for one in command.params:
            if one.param_type_name == "argument":
                arguments.append(one)
            else:
                self._options |= dict.fromkeys((*one.opts, *one.secondary_opts), one)
        takes_any = any(one.nargs == -1 for one in arguments)
        self._places = math.inf if takes_any else sum(one.nargs for one in arguments)
        self.fixed = fixed
        self.bare: list[str] = []
        self.kept: list[str] = []
        self._lost: list[str] = []

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(self._lost)

    def take(self, words: list[str]) -> None:
        """Takes the next word, with its value, from `words`."""
        word = words.pop(0)
        if not _is_option(word):
            fits = len(self.bare) < self._places
            (self.bare if fits else self._lost).append(word)
            return
        name, sign, value = word.partition("=")
        if not sign and not word.startswith("--") and len(word) > len("-q") and name not in self._options:
            name, value = word[:2], word[2:]  # -q3
        values = [value] if value or sign else words[:1] if words and not _is_option(words[0]) else []
        behind = 1 if values and not (value or sign) else 0
        ours = self._meant(name)
        if name not in self._options and "--by-duration" in self._options:
            from mqctl.cli.options.reset_targets import natural_target

            if target := natural_target(name, values[0] if values else ""):
                self._add(target)
                del words[:behind]
                return
        if ours is None and values and self._is_argument(name):
            self.bare.append(values[0])
            del words[:behind]
        elif ours is None:
            self._lost += [name] if names_secret(name) else [word, *words[:behind]]  # a secret is repeated nowhere
            del words[:behind]
        elif len(ours) > 1:  # the value is part of what was meant; what follows is a span or a name of its own
            self._add(ours)
            if values and "--timeout" in self._options and _as_span(values[0]) != values[0]:
                self._add(["--timeout", _as_span(values[0])])
                del words[:behind]
        elif self._options[ours[0]].is_flag:
            self._add(ours)
            if values and values[0].lower() in _YES:
                del words[:behind]
        elif values and self._readable(ours[0], values[0]):
            self._add([ours[0], self._spelled(ours[0], values[0])])
            del words[:behind]
        else:
            self._lost += [word, *words[:behind]]
            del words[:behind]

    def complete(self) -> None:
        """Gives the last option of ours, `group lag -t`, the name that it waits for."""
        if self.fixed and self.fixed[-1] in self._options and not self._options[self.fixed[-1]].is_flag:
            waits = self._options[self.fixed[-1]]
            self.fixed.append(self.bare.pop(0) if self.bare else str(waits.metavar))

    def _meant(self, typed: str) -> list[str] | None:
        """Returns the option that was meant, with its value where the word had it; None for none."""
        from mqctl.cli.options.meaning import suggested

        if typed in self._options:
            return [typed]
        if names_secret(typed):
            return None
        if typed in _FORMATS and "-o" in self._options:
            return ["-o", typed.removeprefix("--")]
        if typed in _WAITS and "--until" in self._options and "--watch" in self._options:
            return ["--until", "lag<1"]
        return next(([word] for word in suggested(self._command, typed) if word in self._options), None)

    def _is_argument(self, typed: str) -> bool:
        from mqctl.cli.options.meaning import suggested

        free = len(self.bare) < self._places and not names_secret(typed)
        return free and any(not word.startswith("-") for word in suggested(self._command, typed))

    def _readable(self, option: str, text: str) -> bool:
        meant = self._options[option]
        try:
            meant.type.convert(text, meant, None)
        except (typer.TyperException, MqctlError):
            return False
        return True

    def _spelled(self, option: str, text: str) -> str:
        if option == "--until" and text.isascii() and text.isdigit():  # of `--lag 0`
            return f"lag<={text}"
        return _as_span(text) if self._options[option].metavar == "SPAN" else text

    def _add(self, ours: list[str]) -> None:
        """Adds an option; one that the command takes once, and that stands there already, is replaced."""
        meant = self._options[ours[0]]
        for line in (self.fixed, self.kept):
            for place, word in enumerate(line):
                once = not getattr(meant, "multiple", False) or (line[place + 1 : place + 2] or [""])[0].isupper()
                if once and word in self._options and self._options[word] is meant:
                    del line[place : place + (1 if meant.is_flag else 2)]
                    break
        self.kept += ours


def _is_option(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _as_span(text: str) -> str:
    """Returns a number alone as seconds: what every other tool's time-out means by it."""
    return f"{text}s" if text.isascii() and text.isdigit() else text
