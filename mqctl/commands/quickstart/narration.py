"""A story told on a terminal: headings, prose, the commands that were typed, and what they said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from mqctl.model.lang import Lang
from mqctl.render.layout import width
from mqctl.render.severity_words import VERDICTS
from mqctl.render.translation import spoken
from mqctl.text import printable

_NARROW = 20
_SEVERITY_STYLE = {"fatal": "bold red", "error": "red", "warning": "yellow", "info": "cyan"}


class Narrator:
    """Writes to one stream, wrapped to its width; plain ASCII but for what commands say.

    Args:
        styled: bold headings and colours.
        lang: language of the tour; None for English.
    """

    def __init__(self, stream: TextIO, *, styled: bool, lang: Lang | None = None) -> None:
        self._lang = lang
        self._console = Console(file=stream, highlight=False, no_color=not styled, force_terminal=styled or None)
        self._first = True

    def spoken(self, text: str) -> str:
        """Returns a text in the language of the tour, without control characters."""
        return printable(spoken(text, self._lang))

    def heading(self, text: str) -> None:
        """Begins a part."""
        text = self.spoken(text)
        if not self._first:
            self._console.print()
        self._first = False
        self._console.print(Text(text, style="bold"))
        self._console.print(Text("-" * min(width(text), self._console.width), style="bold"))

    def say(self, text: str) -> None:
        """Writes a paragraph."""
        self._hanging("", Text(self.spoken(text)))
        self.flush()

    def command(self, line: str) -> None:
        """Shows a command as it is typed, on a line of its own; a long one is the reader's to copy whole."""
        self._console.print()
        self._console.print(Text(f"$ {printable(line)}", style="bold cyan"), soft_wrap=True)
        self._console.print()
        self.flush()

    def item(self, text: str, mark: str = "*") -> None:
        """Writes one point of a list, its further lines below its first."""
        self._hanging(f"{mark} ", Text(self.spoken(text)))

    def finding(self, severity: str, code: str, subject: str, what: str) -> None:
        """Writes a finding of `doctor` in two lines or more."""
        head = Text()
        head.append(f"{self.spoken(VERDICTS[severity]):<8}", style=_SEVERITY_STYLE.get(severity, ""))
        head.append(printable(f"{code}  {subject}"), style="bold")
        self._console.print(head)
        self._hanging("  ", Text(self.spoken(what)))

    def output(self, lines: Iterable[str]) -> None:
        """Writes what a command said as it stands."""
        for line in lines:
            self._console.print(Text(printable(line)), soft_wrap=True)
        self.flush()

    def meaning(self, text: str) -> None:
        """Says what a result means."""
        self._console.print()
        self._hanging("=> ", Text(self.spoken(text)))
        self.flush()

    def to_type(self, lines: Iterable[str]) -> None:
        """Lists commands to type."""
        for line in lines:
            self._console.print(Text(f"  {printable(line)}", style="cyan"), soft_wrap=True)

    def flush(self) -> None:
        """Hands everything on, before a child writes to the same stream."""
        self._console.file.flush()

    def _hanging(self, mark: str, text: Text) -> None:
        for number, line in enumerate(text.wrap(self._console, max(_NARROW, self._console.width - len(mark)))):
            line.rstrip()
            self._console.print(Text(" " * len(mark) if number else mark).append_text(line), soft_wrap=True)
