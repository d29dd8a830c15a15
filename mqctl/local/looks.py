"""What `doctor` is to show of a scenario: the command line of each look, and whether it shows it yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

from mqctl.allocation.rooms import room_rule
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.clock import ClientClock
from mqctl.client.remoting.deadline import Deadline
from mqctl.local.scenario import ClusterDeclared, DoctorRun, Expected
from mqctl.model.finding import Finding
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import Settings, diagnose
from mqctl.rules.engine.scope import within
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.gatherer import gather_live
from mqctl.snapshot.live.stacks import with_later_stacks
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.text import joined, sentence

_ASK_MS = 15_000
_LATER_STACKS = 2
_STACKS_APART_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one look showed.

    Attributes:
        missing: what is declared and was not there.
        surplus: codes that were there and are not declared, with their subjects.
    """

    look: DoctorRun
    missing: tuple[Expected, ...] = ()
    surplus: tuple[str, ...] = ()

    @property
    def as_declared(self) -> bool:
        return not self.missing and not self.surplus

    def __str__(self) -> str:
        parts = [sentence("local-look-missing", "{code} is missing", code=item.code) for item in self.missing] + [
            sentence("local-look-not-declared", "{text} is not declared", text=text) for text in self.surplus
        ]
        return joined(", ", parts) or sentence("local-look-as-declared", "as declared")


def doctor_words(doctor_run: DoctorRun, time_scale: float, namesrv: str, stores: Mapping[str, Path]) -> list[str]:
    """Returns the command line of a look, without `mqctl`."""
    where = ["--namesrv", namesrv] if doctor_run.store is None else ["--store", str(stores[doctor_run.store])]
    return ["doctor", *where, "--time-scale", f"{time_scale:g}", *_options(doctor_run)]


def typed_words(doctor_run: DoctorRun, stores: Mapping[str, str], of_room: Mapping[str, str]) -> list[str]:
    """Returns what to type for a look while the scenario is the only local cluster: the rest is found by itself.

    Args:
        of_room: name server by room.
    """
    where = ["--store", stores[doctor_run.store]] if doctor_run.store else []
    where += ["--namesrv", of_room[doctor_run.room]] if doctor_run.room else []
    return ["doctor", *where, *_options(doctor_run)]


def namesrv_by_room(cluster: ClusterDeclared, namesrv: str) -> dict[str, str]:
    """Returns the name server of each room, from those that a cluster announces in the order of its rooms."""
    return dict(zip(cluster.rooms, namesrv.split(";"), strict=False))


def _options(doctor_run: DoctorRun) -> list[str]:
    words = [word for group in doctor_run.groups for word in ("-g", group)]
    words += ["--room-rule", doctor_run.room_rule] if doctor_run.room_rule else []
    words += ["--window", f"{doctor_run.window_ms}ms"] if doctor_run.window_ms else []
    return [*words, "--stacks"] if doctor_run.stacks else words


def see(doctor_run: DoctorRun, time_scale: float, namesrv: str, stores: Mapping[str, Path]) -> Seen:
    """Looks as `doctor` does. Raises what gathering raises."""
    settings = Settings(
        time_scale=time_scale, room_rule=room_rule(doctor_run.room_rule) if doctor_run.room_rule else None
    )
    state = gather_store(stores[doctor_run.store]) if doctor_run.store else _gather(doctor_run, namesrv)
    diagnosis = within(diagnose(state, settings=settings), groups=list(doctor_run.groups), topics=None, brokers=None)
    return compared(doctor_run, diagnosis.findings)


def compared(doctor_run: DoctorRun, findings: tuple[Finding, ...]) -> Seen:
    """Holds findings against what a look declares."""
    wanted = {item.code for item in doctor_run.finds} | set(doctor_run.also)
    return Seen(
        look=doctor_run,
        missing=tuple(item for item in doctor_run.finds if not any(_is(finding, item) for finding in findings)),
        surplus=tuple(f"{item.code} ({item.subject})" for item in findings if item.code not in wanted),
    )


def _is(finding: Finding, expected: Expected) -> bool:
    if finding.code != expected.code or expected.playbook not in (None, finding.playbook):
        return False
    named = {str(value) for value in (finding.subject.group, finding.subject.topic, *finding.params.values())}
    return {expected.group, expected.topic} - {None} <= named


def _gather(doctor_run: DoctorRun, namesrv: str) -> ClusterSnapshot:
    clock = ClientClock()
    scope = Scope(groups=frozenset(doctor_run.groups))
    with Cluster(namesrv) as cluster:

        def once() -> ClusterSnapshot:
            deadline = Deadline(_ASK_MS)
            return gather_live(cluster, deadline, now_ms=clock.now_ms(), scope=scope, with_stacks=doctor_run.stacks)

        state = once()
        if doctor_run.window_ms:
            sleep(doctor_run.window_ms / 1000)
            state = replace(once(), earlier=state)
        for _ in range(_LATER_STACKS if doctor_run.stacks else 0):
            sleep(_STACKS_APART_S)
            state = with_later_stacks(cluster, Deadline(_ASK_MS), state, clock.now_ms())
    return state


def unmet(looks: Mapping[DoctorRun, str], time_scale: float, stores: Mapping[str, Path]) -> Iterator[Seen]:
    """Looks once by every look, at its name servers, and yields those that are not yet as declared."""
    for look, namesrv in looks.items():
        seen = see(look, time_scale, namesrv, stores)
        if not seen.as_declared:
            yield seen
