"""Gives a thread its class: what it does, by which rule, at which line of the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.model.dump import StackFrame, StackThread
from mqctl.stacks.rules import ClassRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What one stack does.

    Attributes:
        cls: a `StackClass`, or a class of the user's rules.
        rule: name of the rule that decided.
        frame: the call that the rule recognised.
        line: the innermost call that is application code; None where there is none.
    """

    cls: str
    rule: str
    frame: StackFrame | None = None
    line: StackFrame | None = None


def classify(thread: StackThread, rules: Sequence[ClassRule] | None = None) -> Classified:
    """Returns the class of one thread, by `rules` (the built-in table when None)."""
    raise NotImplementedError
