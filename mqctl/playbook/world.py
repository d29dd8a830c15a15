"""What a run of a playbook needs from outside: commands, people, a clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mqctl.model.playbook import PlaybookStep
from mqctl.model.playbook_run import StepRun
from mqctl.playbook.child import Spoken


class World(Protocol):
    """The outside of a run."""

    def now_ms(self) -> int:
        """Returns the wall clock."""

    def connected(self, words: Sequence[str]) -> list[str] | None:
        """Returns the command line with the options that name the cluster; None when it asks no cluster."""

    def speak(
        self,
        words: Sequence[str],
        timeout_ms: int,
        heard: Callable[[str], None],
        plan: bytes | None = None,
        *,
        asks: bool = False,
    ) -> Spoken:
        """Runs a command; with a plan that one showed before, that is what it does; one that asks is answered."""

    def choose(self, step: PlaybookStep) -> str | None:
        """Returns what was chosen, beforehand or now; None when nobody can be asked, or nothing was chosen."""

    def confirm(self, name: str) -> bool:
        """Tells whether a change of `name` is confirmed."""

    def begins(self, number: int, step: PlaybookStep, command: str | None) -> None:
        """Is told that a step begins."""

    def heard(self, line: str) -> None:
        """Is told of a line that a step wrote."""

    def ended(self, step: StepRun) -> None:
        """Is told how a step fared."""
