"""What the stacks of a consumer mean, joined with what it holds in its queues and how far its group is behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mqctl.model.finding import Confidence, Value
from mqctl.model.lag import QueueLag
from mqctl.model.member import RunningInfo
from mqctl.stacks.group import StackReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is known of the consumer beside its stacks; all of it may be missing.

    Attributes:
        info: its running information; earlier: the same some time before.
        lags: of its group's queues.
    """

    now_ms: int
    info: RunningInfo | None = None
    earlier: RunningInfo | None = None
    lags: Sequence[QueueLag] = ()
    earlier_lags: Sequence[QueueLag] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackVerdict:
    """One verdict; severity, playbook and sentences belong to the rule `code` (MQ32x)."""

    code: str
    group: str | None
    variant: str | None = None
    params: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, Value] = field(default_factory=dict)
    confidence: Confidence = Confidence.HIGH


def verdict(report: StackReport, held: Held) -> list[StackVerdict]:
    """Returns what is wrong with the consume threads in `report`, worst first; empty when nothing is."""
    raise NotImplementedError
