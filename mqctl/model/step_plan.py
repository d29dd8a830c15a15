"""A change made of separate steps, each of one thing from one state to another: shown first, carried out on request."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that changes.

    Attributes:
        subject: what it is: a delay level, a message.
        old, new: how it stands and how it will; None for what is not there.
        effect: what that does to messages, in words.
        problem: why it cannot be done; such a step is shown and left out.
    """

    subject: str
    old: str | None
    new: str | None
    effect: str = ""
    problem: str | None = None

    @property
    def moves(self) -> bool:
        return self.problem is None and self.old != self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What is to be done.

    Attributes:
        kind: such as `delay-repair`.
        target: the store directory or the cluster it is about.
        confirm: the name that has to be typed or given to carry it out.
        made_at_ms: epoch milliseconds.
    """

    kind: str
    target: str
    confirm: str
    made_at_ms: int
    steps: tuple[Step, ...]

    @property
    def moving(self) -> tuple[Step, ...]:
        """The steps that change something."""
        return tuple(step for step in self.steps if step.moves)

    @property
    def left_out(self) -> tuple[Step, ...]:
        """The steps that cannot be done."""
        return tuple(step for step in self.steps if step.problem is not None)
