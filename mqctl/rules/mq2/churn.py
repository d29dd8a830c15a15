"""MQ219, MQ220: members that do not stay as they are from look to look."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mqctl.allocation.group_view import group_views, named_clients
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.audience import ONLINE
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, any_window, rule

_Connections = dict[tuple[str, str], set[str]]
_Holders = dict[str, dict[object, frozenset[str]]]


@rule(
    "MQ219",
    Severity.WARNING,
    source="ClientHousekeepingService, ConsumerManager.doChannelCloseEvent",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
    texts=RuleTexts(
        title="Members that reconnect repeatedly",
        speaks="a member stays and its connections do not",
        silent="a member joins the group",
        what={
            "": "{remade_count} of {member_count:member} of group {group} reconnected within {window_ms} "
            "({clients}); {moved_count:queue} changed hands.",
            "members": "{remade_count} of {member_count:member} of group {group} reconnected within {window_ms} "
            "({clients}). Who owned the queues is not known.",
        },
        effect="For the group, each lost connection is a member that left and came back: it rebalances, and "
        "messages in flight are delivered again.",
        advice="Look at the network between clients and brokers (`mqctl broker reach`, from the client's machine), at pauses of the client's JVM longer than its time-outs, and at firewalls that drop idle connections.",
        explain="Compares the addresses of each client's connections in two samples: a client that stays keeps its port. A client that was restarted has another id and is not counted.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def connections_remade(case: ClusterCase) -> Iterator[Verdict]:
    """Members that stayed and whose connections did not: each new one lets the group share its queues out anew."""
    looks = [_connections(look) for look in case.looks]
    remade = {
        group: {
            client
            for then, here in pairwise(look[group] for look in looks)
            for broker, client in then.keys() & here.keys()
            if then[broker, client].isdisjoint(here[broker, client])
        }
        for group in set.intersection(*(set(look) for look in looks))
    }
    if not any(remade.values()):
        return
    before, now = _holders(case.looks[0]), _holders(case.snapshot)
    for group, clients in sorted(remade.items()):
        if clients:
            then, here = before.get(group, {}), now.get(group, {})
            known = then.keys() & here.keys()
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=group),
                params={"group": group, "clients": named_clients(clients)},
                evidence={
                    "remade_count": len(clients),
                    "member_count": len({client for _, client in looks[-1][group]}),
                    "moved_count": sum(then[queue] != here[queue] for queue in known) if known else None,
                    "window_ms": case.window_ms,
                },
                variant=None if known else "members",
            )


@rule(
    "MQ220",
    Severity.WARNING,
    source="ConsumerManager.doChannelCloseEvent, RebalanceService",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
    least_window=any_window,
    texts=RuleTexts(
        title="Members come and go",
        speaks="a member is gone at the second look of three and back at the third",
        silent="one leaves for good, another comes",
        what={
            "": "{flapping_count:member} of group {group} left and came back within {window_ms} ({clients}); {queue_count:queue} changed hands more than once.",
            "members": "{flapping_count:member} of group {group} left and came back within {window_ms} ({clients}). Who owned the queues is not known.",
            "queues": "{queue_count:queue} of group {group} changed hands more than once within {window_ms}, and its members stayed.",
        },
        effect="The group rebalances each time: consumption pauses, and messages in flight are delivered again.",
        advice="Look at the members' logs for the reason they leave (network, long pauses, a probe that restarts them). Queues that change hands among members that stay: compare their allocation strategies and client ids.",
        explain="Looks at the members of each group every 20 s of the window, four times at least. In a rolling "
        "restart each member leaves once, and another with a new id joins.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def members_flap(case: ClusterCase) -> Iterator[Verdict]:
    """Members that leave and come back between looks, or queues that change hands again and again.

    A restart takes a member away once and brings another one.
    """
    if not case.snapshot.between:
        return  # what is there twice may have been away
    looks = [{view.group: view for view in group_views(look)} for look in case.looks]
    held = [_holders(look) for look in case.looks]
    for group in sorted(set.intersection(*(set(look) for look in looks))):
        seen = [set(look[group].client_ids) for look in looks]
        clients = {client for client in set.union(*seen) if _comes_back([client in some for some in seen])}
        queues = [
            queue
            for queue in held[0].get(group, {})
            if sum(one != other for one, other in pairwise(_known(held, group, queue))) > 1
        ]
        if clients or queues:
            unknown = not any(one.get(group) for one in held)
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=group),
                params={"group": group, "clients": named_clients(clients)},
                evidence={
                    "look_count": len(looks),
                    "flapping_count": len(clients),
                    "queue_count": None if unknown else len(queues),
                    "window_ms": case.window_ms,
                },
                variant="queues" if not clients else "members" if unknown else None,
            )


def _comes_back(there: list[bool]) -> bool:
    """Tells whether somebody was there, was gone, and was there again."""
    first = there.index(True)
    return False in there[first:] and True in there[there.index(False, first) :]


def _known(held: list[_Holders], group: str, queue: object) -> list[frozenset[str]]:
    """Returns who held a queue at each look that tells."""
    seen = (look.get(group, {}).get(queue) for look in held)
    return [holders for holders in seen if holders]


def _connections(snapshot: ClusterSnapshot) -> dict[str, _Connections]:
    """Returns the addresses of each client at each broker, by group."""
    connections: dict[str, _Connections] = {}
    for broker in snapshot.brokers:
        for entry in broker.memberships:
            for member in entry.members:
                key = (broker.name or "", member.client_id)
                connections.setdefault(entry.group, {}).setdefault(key, set()).add(member.address)
    return connections


def _holders(snapshot: ClusterSnapshot) -> _Holders:
    """Returns who holds each queue, by group."""
    holders: dict[str, dict[object, set[str]]] = {}
    for info in snapshot.running:
        owners = holders.setdefault(info.group, {})
        for held in info.queues:
            if not held.dropped:
                owners.setdefault(held.queue, set()).add(info.client_id)
    return {group: {queue: frozenset(owners) for queue, owners in held.items()} for group, held in holders.items()}
