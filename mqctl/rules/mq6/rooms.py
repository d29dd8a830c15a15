"""MQ6: names that tell no room, rooms without consumers or with too much, fixed lists of queues that are stale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from mqctl.allocation.group_view import GroupView, named_clients, queue_names
from mqctl.allocation.observed import UNKNOWN, observed_allocation
from mqctl.allocation.rooms import inferred_rule
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.queue import MessageQueue
from mqctl.rules.engine.audience import SHARING, SUBSCRIBED
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule

_SHOW = "mqctl allocation show {source} -g {group}"

_RUNNING = (Part.MEMBERS, Part.RUNNING_INFO)
_CONFIG = "CONFIG"

_MEMBERS = (Part.MEMBERS, Part.ROUTES)
_UNEVEN = 2.0
_ROOM_STRATEGIES = frozenset({"MACHINE_ROOM", "MACHINE_ROOM_NEARBY"})


class _Shared:
    """One topic that a group shares out, with its queues and members by room; an empty room is one that is not told.

    `confidence` is how far the evidence carries that the group shares out by rooms at all; while it is `settling`, a
    room may have consumers again in a moment. A name that tells no room does not pass.
    """

    def __init__(
        self,
        subject: Subject,
        members: dict[str, list[MessageQueue]],
        clients: Counter[str],
        untold: list[str],
        confidence: Confidence,
        *,
        settling: bool,
    ) -> None:
        self.settling = settling
        self.confidence = confidence
        self.subject = subject
        self.members = members
        self.queues = Counter({room: len(queues) for room, queues in members.items()})
        self.clients = clients
        self.untold = untold

    @property
    def names(self) -> dict[str, str | None]:
        return {"group": self.subject.group, "topic": self.subject.topic}


def _by_rooms(case: ClusterCase, view: GroupView) -> Confidence | None:
    """Tells how sure it is that a group shares out by rooms: its members tell, or what they hold fits nothing else.

    None where they use another strategy: most groups use AVG, and rooms are nothing to them.
    """
    strategies = {info.strategy for info in view.running.values() if info.strategy is not None}
    if strategies:
        # Some clients name the strategy within a room as well: MACHINE_ROOM_NEARBY-AVG.
        return Confidence.HIGH if {name.partition("-")[0] for name in strategies} & _ROOM_STRATEGIES else None
    if case.settings.room_rule is None:
        return None  # a guess is of no use without the rule, and fitting thousands of groups takes its time
    fitted = {name for topic in observed_allocation(case.snapshot, view.group) for name in topic.strategies}
    return Confidence.LOW if UNKNOWN in fitted else None


def _shared(case: ClusterCase) -> Iterator[_Shared | Unknown]:
    """Yields the topics of groups that share out by rooms; what it takes to judge them is a rule for names."""
    for view in case.views:
        rule = case.settings.room_rule
        sure = _by_rooms(case, view) if view.shares else None
        if sure is None:
            continue
        if rule is None:
            # The group shares out by rooms, and nobody said which name means which: names may say it themselves.
            names = {queue.broker_name for _, queues in case.shared_topics(view) for queue in queues}
            rule, sure = inferred_rule(names, view.client_ids), Confidence.MEDIUM
        if rule is None:
            yield Unknown(subject=view.subject, why=Why(Reason.ROOMS))
            continue
        clients = Counter(rule.client_room(client) or "" for client in view.client_ids)
        silent = [client for client in view.client_ids if not rule.client_room(client)]
        for topic, queues in case.shared_topics(view):
            brokers = sorted({queue.broker_name for queue in queues})
            members: dict[str, list[MessageQueue]] = {}
            for queue in queues:
                members.setdefault(rule.broker_room(queue.broker_name) or "", []).append(queue)
            yield _Shared(
                Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                members,
                clients,
                [*silent, *(name for name in brokers if not rule.broker_room(name))],
                sure,
                settling=case.settling(view),
            )


def _waiting(case: ClusterCase, shared: _Shared, queues: list[MessageQueue]) -> int | None:
    return case.waiting_in(shared.subject.group or "", queues)


def _holders(case: ClusterCase, shared: _Shared, room: str) -> str | None:
    """Names the members that say they hold queues of a room; None when nobody does."""
    queues = set(shared.members[room])
    members = {
        info.client_id
        for info in case.snapshot.running
        if info.group == shared.subject.group and any(held.queue in queues and not held.dropped for held in info.queues)
    }
    return named_clients(members) if members else None


@rule(
    "MQ611",
    Severity.FATAL,
    source="AllocateMachineRoomNearby",
    needs=_MEMBERS,
    playbook="room-lost",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Names that do not show a machine room",
        speaks="a room strategy meets a client whose room is not known",
        silent="the same names under a strategy without rooms",
        what={
            "": "Group {group} allocates {topic} by rooms, but the room of {names} is not known: its "
            "{queue_count:queue stays/stay} with the present owners, {waiting_count:message} waiting."
        },
        effect="The nearby strategy fails for the whole topic on every instance: owners stay as they are when "
        "members join or leave.",
        advice="Name brokers and clients by the rule, or fix the rule.",
        explain="The strategy needs the room of every broker and of every client; one name without is enough. Judged only when "
        "the rule is given (--room-rule, or the profile's).",
        next_command=_SHOW,
    ),
)
def rooms_untold(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Names that tell no machine room: the nearby strategy throws for the whole topic, and the assignment freezes."""
    for shared in _shared(case):
        if isinstance(shared, Unknown):
            yield shared
            continue
        if shared.untold:
            yield Verdict(
                subject=shared.subject,
                confidence=shared.confidence,
                params={**shared.names, "names": named_clients(shared.untold)},
                evidence={
                    "name_count": len(shared.untold),
                    "queue_count": shared.queues.total(),
                    "waiting_count": _waiting(case, shared, list(chain.from_iterable(shared.members.values()))),
                },
            )


@rule(
    "MQ612",
    Severity.WARNING,
    source="AllocateMachineRoomNearby",
    needs=_MEMBERS,
    playbook="room-lost",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="A machine room without consumers",
        speaks="a room has queues and no consumer, under a room strategy",
        silent="the same rooms under a strategy without rooms",
        what={
            "": "Group {group} has no consumer in room {room}, which hosts {queue_count:queue} of {topic} ({queues}) "
            "with {waiting_count:message} waiting; owned by: {holders}."
        },
        effect="With the nearby strategy the other rooms consume them across rooms; with the room strategy nobody does.",
        advice="Restart the consumers in that room, or check that the other rooms can take the load.",
        explain="Compares the rooms of the topic's brokers with those of the group's members. Without a rule (--room-rule, or the "
        "profile's) rooms are read from the names themselves, with medium confidence, where all brokers have one of several prefixes "
        "(HT-broker-a, CP@broker-a) and all members one of these.",
        next_command=_SHOW,
    ),
)
def dead_room(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A machine room with queues and without consumers: another room consumes for it, or nobody does."""
    for shared in _shared(case):
        if isinstance(shared, Unknown):
            yield shared
            continue
        for room, count in sorted(shared.queues.items()):
            if not room or room in shared.clients:
                continue
            if shared.settling:
                yield restarting(shared.subject, Reason.RESTARTING_ROOMS, count)
            else:
                yield Verdict(
                    subject=shared.subject,
                    confidence=shared.confidence,
                    params={
                        **shared.names,
                        "room": room,
                        "queues": queue_names(shared.members[room]),
                        "holders": _holders(case, shared, room),
                    },
                    evidence={
                        "queue_count": count,
                        "member_count": shared.clients.total(),
                        "waiting_count": _waiting(case, shared, shared.members[room]),
                    },
                )


@rule(
    "MQ613",
    Severity.WARNING,
    source="AllocateMachineRoomNearby",
    needs=_MEMBERS,
    playbook="room-lost",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Machine rooms have unequal loads",
        speaks="one client of a room carries three times as much as those of the other",
        silent="both rooms have as many clients",
        what={
            "": "Each consumer of {group} has {queues_per_client} queues of {topic} in room {room}, but "
            "{other_queues_per_client} in room {other}."
        },
        effect="The room with more queues for each consumer falls behind first.",
        advice="Distribute consumers in proportion to the queues of each room.",
        explain="Reported when one room has more than twice as many queues per consumer as another.",
        next_command=_SHOW,
    ),
)
def uneven_rooms(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Rooms of which one has more than twice the queues for each consumer of another."""
    for shared in _shared(case):
        if isinstance(shared, Unknown):
            yield shared
            continue
        loads = {
            room: shared.queues[room] / shared.clients[room]
            for room in shared.queues
            if room and room in shared.clients
        }
        if len(loads) > 1 and max(loads.values()) > _UNEVEN * min(loads.values()):
            heavy, light = max(loads, key=loads.__getitem__), min(loads, key=loads.__getitem__)
            if shared.settling:
                yield restarting(shared.subject, Reason.RESTARTING_ROOMS, shared.queues[heavy])
                continue
            yield Verdict(
                subject=shared.subject,
                confidence=shared.confidence,
                params={**shared.names, "room": heavy, "other": light},
                evidence={
                    "queues_per_client": round(loads[heavy], 1),
                    "other_queues_per_client": round(loads[light], 1),
                },
            )


@rule(
    "MQ616",
    Severity.FATAL,
    source="AllocateMessageQueueByConfig",
    needs=(*_RUNNING, Part.ROUTES),
    playbook="unconsumed-queue",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Fixed queue lists that no longer match the topic",
        speaks="a fixed list has queues that are gone",
        silent="fixed lists that fit the route",
        what={
            "missing": "Members of group {group} take queues of {topic} by fixed lists, and of {queue_count:queue} {missing_count:is/are} in "
            "none that is in use: {missing}.",
            "gone": "Members of group {group} hold {gone_count:queue} of {topic} by fixed lists that the topic does not have: {gone}.",
        },
        effect="The strategy CONFIG looks at neither queues nor members: new queues are never consumed, and pulls "
        "of old ones fail.",
        advice="Bring the lists up to date, or let members use AVG.",
        explain="Compares what members with the strategy CONFIG hold with the queues of the topic's route. A member that is "
        "offline takes its list with it.",
        next_command=_SHOW,
    ),
)
def stale_lists(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Members with fixed lists of queues (CONFIG) that are not the topic's queues any more."""
    for view in case.views:
        fixed = [client for client, info in view.running.items() if info.strategy == _CONFIG]
        if not fixed or len(fixed) < len(view.client_ids):
            continue
        held = {item.queue for info in view.running.values() for item in info.queues if not item.dropped}
        for topic, queues in case.shared_topics(view):
            missing = [queue for queue in queues if queue not in held]
            gone = [queue for queue in held if queue.topic == topic and queue not in set(queues)]
            if not missing and not gone:
                continue
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if case.settling(view):
                yield restarting(subject, Reason.RESTARTING_UNLISTED, len(missing))
                continue
            yield Verdict(
                subject=subject,
                params={
                    "group": view.group,
                    "topic": topic,
                    "missing": queue_names(missing) if missing else None,
                    "gone": queue_names(gone) if gone else None,
                },
                evidence={"missing_count": len(missing), "gone_count": len(gone), "queue_count": len(queues)},
                variant="missing" if missing else "gone",
            )
