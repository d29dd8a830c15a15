"""MQ141, MQ142: brokers under a controller, who is in sync with them, and whether anybody could elect a master."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.replicas import replicas
from mqctl.model.replication import SeenController, SyncState
from mqctl.model.route import MASTER_ID
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_NAMED = 3


@rule(
    "MQ141",
    Severity.ERROR,
    source="AutoSwitchHAService",
    needs=(Part.RUNTIME, Part.CONFIG, Part.REPLICATION, Part.CONTROLLERS),
    playbook="failover-drill",
    texts=RuleTexts(
        title="A master is alone in its sync state set",
        speaks="nobody is in sync with a master under a controller",
        silent="a master under a controller that never had a slave",
        what={"": "{broker} runs under a controller and nobody is in sync with it, though it has {slave_count:slave}."},
        effect="If it fails now, no master can be elected; with enableElectUncleanMaster the new master is missing "
        "messages.",
        advice="Check that the slaves run, that their heartbeats reach the leader of the controllers, and that they catch up. `mqctl ha status -o wide` "
        "shows the set as the controller has it, and the epochs of each broker.",
        explain="A slave leaves the set when its connection closes, or after 15 s behind; it returns when it has "
        "caught up. The leading controller tells the set, also of slaves that died; a master with no slave is not judged.",
        next_command="mqctl ha status {source} {broker} -o wide",
    ),
)
def alone_in_sync_state_set(case: ClusterCase) -> Iterator[Verdict]:
    """A master under a controller with nobody beside it in the sync state set: if it fails, there is no master."""
    for broker in case.snapshot.brokers:
        view = broker.replication
        if broker.broker_id != MASTER_ID or view is None or broker.config.get("enableControllerMode") != "true":
            continue
        slaves = sum(item.name == broker.name for item in replicas(case.snapshot.brokers))
        alone = not any(connection.is_in_sync for connection in view.connections)
        if view.sync_state is not None:  # the controller knows of members that died, and of sets of one
            slaves = len(view.sync_state.in_sync) + len(view.sync_state.out_of_sync) - 1
            alone = len(view.sync_state.in_sync) <= 1
        if alone and slaves > 0:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name},
                evidence={"slave_count": slaves, "connection_count": len(view.connections)},
            )


@rule(
    "MQ142",
    Severity.ERROR,
    source="ControllerManager",
    needs=(Part.CONFIG,),
    playbook="failover-drill",
    texts=RuleTexts(
        title="No controller could elect a master",
        speaks="the only controller does not answer",
        silent="both controllers answer and one of them leads",
        what={
            "": "{controller_count:controller} of {broker_count:broker} cannot be reached: {addresses}.",
            "leaderless": "The controllers that {broker_count:broker is/are} set to have no leader; {silent_count:controller does/do} not answer.",
            "some": "{silent_count:controller does/do} not answer ({addresses}); the others have a leader.",
            "no-master": "The controller has no master for {broker}: none of the {candidate_count} in its sync state set can be elected.",
        },
        effect="Running brokers keep their roles, but nothing fails over: a master that dies is not replaced, and a broker that is restarted stays fenced (id -1, sends are "
        "answered SERVICE_NOT_AVAILABLE). With a minority of the controllers gone all still works; the next one lost may stop elections.",
        advice="Start the controllers, and check that brokers reach each address of their controllerAddr. They may answer brokers and not you: look from a broker's machine as well.",
        explain="Asks every address of controllerAddr who leads (request 1005), and the leader for the sync state sets (1006). Elections need a majority of the controllers. "
        "No candidate: all members of the set are down; with enableElectUncleanMaster others may be elected, and messages are lost.",
        next_command="mqctl ha status {source} -o wide",
    ),
)
def nobody_elects(case: ClusterCase) -> Iterator[Verdict]:
    """Controllers that do not answer or have no leader, or that could elect no master: nothing fails over then."""
    groups: dict[str, tuple[SeenController, ...]] = {}
    members: dict[str, set[str]] = {}
    sets: dict[str, SyncState] = {}
    for broker in case.snapshot.brokers:
        view, name = broker.replication, broker.name or ""
        if view is None or not view.controllers:
            continue
        group = broker.config.get("controllerAddr", "")
        groups[group] = view.controllers
        members.setdefault(group, set()).add(name)
        if view.sync_state is not None:
            sets[name] = view.sync_state
    for group, controllers in sorted(groups.items()):
        yield from _of_controllers(controllers, len(members[group]))
    for name, state in sorted(sets.items()):
        if state.master is None:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=name),
                params={"broker": name},
                evidence={"candidate_count": len(state.in_sync), "dead_count": len(state.dead)},
                variant="no-master",
            )


def _of_controllers(controllers: tuple[SeenController, ...], broker_count: int) -> Iterator[Verdict]:
    silent = [item.address for item in controllers if not item.answered]
    has_leader = any(item.leader for item in controllers)
    if has_leader and not silent:
        return
    variant = "some" if has_leader else "leaderless" if len(silent) < len(controllers) else None
    named = silent if silent else [item.address for item in controllers]
    yield Verdict(
        subject=Subject(kind=SubjectKind.CLUSTER),
        params={"addresses": ", ".join(named[:_NAMED]) + (" ..." if len(named) > _NAMED else "")},
        evidence={
            "silent_count": len(silent),
            "controller_count": len(controllers),
            "broker_count": broker_count,
        },
        variant=variant,
        severity=Severity.WARNING if has_leader else None,
        confidence=Confidence.HIGH if variant == "leaderless" else Confidence.MEDIUM,
    )
