"""An incident as data: who told of it, the world in which it happens, and the finding that must name it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from embedded_broker import EmbeddedCluster
from mqctl.model.finding import Severity
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import Settings, diagnose
from tests.rules.live_snapshots import MINUTE
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, Fault, cluster, offset, queue
from tests.rules.twins import TWINS

State = BrokerSnapshot | ClusterSnapshot
_PLACES = 2
# A group that is behind goes on consuming.
_EARLIER = 500


class Stage:
    """Where worlds are built that need more than a snapshot: a directory, and a cluster that they share."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open = ExitStack()
        self._cluster: EmbeddedCluster | None = None

    def cluster(self) -> EmbeddedCluster:
        """Returns two embedded brokers as they are when they were just started."""
        if self._cluster is None:
            self._cluster = self._open.enter_context(EmbeddedCluster(brokers=2, version="5.3.3"))
        self._cluster.reset()
        return self._cluster

    def close(self) -> None:
        self._open.close()


World: TypeAlias = State | Callable[[Stage], ClusterSnapshot]


@dataclass(frozen=True, kw_only=True)
class Incident:
    """One row of the corpus.

    Attributes:
        number: of the row; rows keep their numbers.
        thread: the public thread that tells of it, `owner/repository#number`.
        story: the symptom, and the cause that was found.
        code: the rule that must be the first or the second to speak; None where no rule names it.
        world, healthy: the incident with what it brings along, and nearly the same without the cause.
        settings: what both are judged with.
        shown_by: the command that shows the evidence, for a row that no rule names.
        unseen: what cannot be seen from outside, for a row that no rule names.
        waits_for: what must be built before the row can have a world; it counts as open.
    """

    number: int
    thread: str
    story: str
    code: str | None = None
    world: World | None = None
    healthy: World | None = None
    settings: Settings | None = None
    shown_by: str = ""
    unseen: str = ""
    waits_for: str = ""

    @property
    def score(self) -> str:
        """`named`, `shown` or `open`."""
        if self.waits_for:
            return "open"
        return "named" if self.code else "shown"


def named(
    number: int,
    thread: str,
    story: str,
    code: str,
    world: World | None = None,
    healthy: World | None = None,
    variant: str | None = None,
) -> Incident:
    """Returns a row that a rule names. Without a world, it is the rule's own with the symptoms of a backlog."""
    fault = None if world is not None else _fault(code, variant)
    return Incident(
        number=number,
        thread=thread,
        story=story,
        code=code,
        world=world if fault is None else suffering(fault.broker),
        healthy=healthy if healthy is not None else TWINS[code].state,
        settings=fault.settings if fault is not None else TWINS[code].settings,
    )


def shown(number: int, thread: str, story: str, by: str, unseen: str) -> Incident:
    """Returns a row of which a command shows the evidence."""
    return Incident(number=number, thread=thread, story=story, shown_by=by, unseen=unseen)


def waiting(number: int, thread: str, story: str, waits_for: str) -> Incident:
    """Returns a row that is left open."""
    return Incident(number=number, thread=thread, story=story, waits_for=waits_for)


def _fault(code: str, variant: str | None) -> Fault:
    known = [*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS)]
    return next(fault for fault in known if (fault.code, fault.variant) == (code, variant))


def suffering(state: State, *, consumed: int = 900) -> ClusterSnapshot:
    """The same with what incidents bring along: group G is behind for ten minutes, and has dead letters."""
    snapshot = cluster(state)
    if not snapshot.brokers:
        return snapshot
    *others, last = snapshot.brokers
    late = offset("G", "Pay", 1, consumed, 10 * MINUTE)
    kept = [item for item in last.consumer_offsets if (item.topic, item.queue_id) != ("Pay", 1)]
    worse = replace(last, consumer_offsets=(*kept, late), queues=(*last.queues, queue("%DLQ%G", 0, 0, 3)))
    earlier = snapshot.earlier and suffering(snapshot.earlier, consumed=_EARLIER)
    return replace(snapshot, brokers=(*others, worse), earlier=earlier)


def judged(world: World, stage: Stage, settings: Settings | None = None) -> list[tuple[str, Severity]]:
    """Judges a world: each rule that speaks once, in the order in which doctor tells them."""
    state = world(stage) if callable(world) else world
    spoken: dict[str, Severity] = {}
    for finding in diagnose(cluster(state), settings=settings).findings:
        spoken.setdefault(finding.code, finding.severity)
    return list(spoken.items())


def is_named(incident: Incident, stage: Stage) -> bool:
    """Tells whether the rule of a row is the first or the second to speak."""
    assert incident.world is not None
    spoken = judged(incident.world, stage, incident.settings)
    return incident.code in [code for code, _ in spoken[:_PLACES]]


def accusations(incident: Incident, stage: Stage) -> list[str]:
    """Returns the rules that accuse the healthy twin; advice accuses nobody."""
    assert incident.healthy is not None
    spoken = judged(incident.healthy, stage, incident.settings)
    return [code for code, severity in spoken if severity.rank > Severity.INFO.rank]
