"""MQ615 and MQ617: producers and brokers that were there and are gone, though somebody still counts on them."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.gone_brokers import GoneBroker, gone_brokers
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule


@rule(
    "MQ617",
    Severity.ERROR,
    source="RouteInfoManager.scanNotActiveBroker",
    needs=(Part.ROUTES,),
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker that was there is gone",
        speaks="a broker was seen a minute ago and is gone",
        silent="the broker that was seen is still there, at another address",
        what={
            "held": "No name server knows {broker} any more; members of {holder_count:group} still hold {held_count:queue} of it.",
            "expected": "No name server knows {broker}, which is part of {expected_by}.",
            "expected-counted": "No name server knows {broker}, which is part of {expected_by}. Out of reach with it: {queue_count:queue}, "
            "from which {group_count:group} {group_count:/consumes/consume}.",
            "expected-queues": "No name server knows {broker}, which is part of {expected_by}. Out of reach with it: {queue_count:queue}.",
            "ordered": "No name server knows {broker}, which the order configuration of {topic} names.",
            "seen": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}.",
            "seen-counted": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}. Out of reach with it: "
            "{queue_count:queue}, from which {group_count:group} {group_count:/consumes/consume}.",
            "seen-queues": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}. Out of reach with it: "
            "{queue_count:queue}.",
            "answers": "No name server knows {broker} any more, and it answers at {last_address} as {broker}: it runs and its registrations do not count.",
            "answers-counted": "No name server knows {broker} any more, and it answers at {last_address} as {broker}: it runs and its registrations do not "
            "count. Out of reach with it: {queue_count:queue}, from which {group_count:group} {group_count:/consumes/consume}.",
            "answers-queues": "No name server knows {broker} any more, and it answers at {last_address} as {broker}: it runs and its registrations do not "
            "count. Out of reach with it: {queue_count:queue}.",
            "replaced": "No name server knows {broker} any more; at {last_address}, where it was, {answered_name} answers now.",
        },
        effect="What it stores is out of reach until it is back: it is late, not lost. Sends and consumers go on with other "
        "brokers, as far as any are left.",
        advice="Check whether its process and its machine are alive. If it was taken out of service on purpose, "
        "accept this in a file for --known, and where a profile names it, name the others with `mqctl profile add --brokers`. One that "
        "was only seen is forgotten after seven days.",
        explain="Name servers drop a broker whose connection breaks, or that is silent for 120 s; nothing of it stays with them. "
        "Looks for brokers that members hold queues of, that order configurations name, that a local cluster was started with, that a "
        "profile names (`mqctl profile add --brokers`), that were there in an earlier look of this run, or when the cluster was looked at from here within "
        "seven days; after one day without it, that last is a warning only. A live look asks the last known address of a missed broker, a second at most.",
        other_advice={
            "answers": "Its process is alive: compare its namesrvAddr with these name servers, and look in its broker.log for `registerBroker "
            "Exception`. It registers every 30 s, and is back as soon as a name server takes that.",
        },
        next_command="mqctl broker list {source}",
    ),
)
def broker_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A broker that no name server knows any more, although members hold its queues, an order configuration names it,
    it belongs to the cluster by its profile, or it was registered when the cluster was last looked at from here."""
    for gone in gone_brokers(case.snapshot):
        seen = gone.seen
        queues, topics = gone.held, gone.ordered
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=gone.name),
            params={
                "broker": gone.name,
                "expected_by": gone.expected_by,
                "topic": min([*topics, *(queue.topic for queue in queues)], default=None),
            },
            evidence={
                "held_count": len(queues),
                "holder_count": len(gone.holders),
                "ordered_count": len(topics),
                "last_seen_time_ms": seen.last_seen_time_ms if seen else None,
                "last_address": seen.address if seen else None,
                "queue_count": seen.queue_count if seen else None,
                "group_count": seen.group_count if seen else None,
                **_answered(gone),
            },
            variant=_variant(gone),
            severity=None if gone.belongs or gone.recent else Severity.WARNING,
            confidence=Confidence.HIGH if gone.belongs or gone.answered_name == gone.name else Confidence.MEDIUM,
        )


def _answered(gone: GoneBroker) -> dict[str, Value]:
    """Returns what came of asking its last address, where that was asked."""
    answer = gone.seen.answer if gone.seen else None
    if answer is None:
        return {}
    if answer.problem is not None:
        return {"answer_problem": answer.problem}
    return {"answered_name": answer.name, "answered_id": answer.broker_id, "answered_namesrv": answer.namesrv}


def _variant(gone: GoneBroker) -> str:
    size = ""
    if gone.seen is not None and gone.seen.queue_count:
        size = "-counted" if gone.seen.group_count else "-queues"  # whose consumers are not known may have some
    if gone.answered_name is not None:
        return f"answers{size}" if gone.answered_name == gone.name else "replaced"
    if gone.held:
        return "held"
    if gone.ordered and gone.expected_by is None:
        return "ordered"
    return ("expected" if gone.expected_by else "seen") + size


@rule(
    "MQ615",
    Severity.WARNING,
    source="ProducerManager",
    needs=(Part.PRODUCERS,),
    playbook="broker-down",
    least_window=lambda settings: settings.settle_ms,
    texts=RuleTexts(
        title="Producers that were connected are gone",
        speaks="all producers of a group left between two samples",
        silent="two of three producers left between two samples",
        what={"": "Producer group {group} had {earlier_count:client} {window_ms} ago, and has none now."},
        effect="It sends nothing any more; transactions that it left open cannot be checked.",
        advice="Find out whether it was stopped on purpose. Producers that are still running have lost the broker: their logs, and `mqctl broker "
        "reach` from their machine, show why.",
        explain="Compares the producers of all brokers in two samples, two minutes apart or more: brokers forget a silent client "
        "after that time.",
        next_command="mqctl producer list {source}",
    ),
)
def producers_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A producer group that was connected at the earlier look, long enough ago, and is nowhere now."""
    earlier = case.snapshot.earlier
    if earlier is None:
        return
    if any(gap.part is Part.PRODUCERS for broker in case.snapshot.brokers for gap in broker.unavailable):
        return
    before, now = _producers(earlier), _producers(case.snapshot)
    for group, clients in sorted(before.items()):
        if clients and not now.get(group):
            yield Verdict(
                subject=Subject(kind=SubjectKind.PRODUCER_GROUP, group=group),
                params={"group": group},
                evidence={"earlier_count": len(clients), "window_ms": case.window_ms},
                confidence=Confidence.MEDIUM,
            )


def _producers(snapshot: ClusterSnapshot) -> dict[str, set[str]]:
    by_group: dict[str, set[str]] = {}
    for broker in snapshot.brokers:
        for producers in broker.producers:
            by_group.setdefault(producers.group, set()).update(member.client_id for member in producers.members)
    return by_group
