"""MQ429: messages that brokers hand out to a group more often than it consumes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqctl.allocation.group_view import GroupView
from mqctl.model.finding import Reason, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.rules.engine.audience import APPLICATION, SHARING
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule

# A broker's minute of samples ten seconds apart, and what gathering takes: an older look is before all of it.
_MINUTE_ENDED_MS = 80_000
_RATIO, _LEAST = 1.5, 30


def _window(settings: Settings) -> int:
    """Brokers count by their own clock, however fast the rest of a scenario runs."""
    return round(_MINUTE_ENDED_MS * settings.time_scale)


@rule(
    "MQ429",
    Severity.WARNING,
    source="BrokerStatsManager.incGroupGetNums, PullMessageProcessor",
    needs=(Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.RUNNING_INFO),
    playbook="skip-and-replay",
    groups=SHARING,
    topics=APPLICATION,
    least_window=_window,
    texts=RuleTexts(
        title="A group gets messages more than once",
        speaks="a group is handed twice what its offsets pass",
        silent="its members hold in their caches what is handed out in advance",
        what={
            "": "Brokers handed {handed_count:message} of {topic} to group {group} in their last minute, and its offsets passed {moved_count:message} in "
            "that time and before: messages are handed out more than once.",
        },
        effect="Its listeners do everything as often, though every offset is right.",
        advice="Find who pulls: two pull loops in one application, a second application with this group, two members that hold one queue, pulls that time "
        "out at the client. `mqctl group members` shows who is connected, stacks the loops of one process.",
        explain="Compares the brokers' counter GROUP_GET_NUMS of the last minute with what offsets moved since a look at least 80 s old, and with what members hold: "
        "half as much again, and 30 messages, are more than all these. A filter only lowers the counter. Where an offset went back, MQ411 speaks.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl topic traffic {source} {topic}",
    ),
)
def handed_out_twice(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group to which brokers hand out far more than its offsets pass and its members hold."""
    before = next((look for look in reversed(case.looks) if _age_ms(case, look) >= _MINUTE_ENDED_MS), None)
    if before is None:
        return
    moved, back = _moved(before, case)
    handed: Counter[tuple[str, str]] = Counter()
    for broker in case.snapshot.brokers:
        for item in broker.handed_out:
            handed[item.group, item.topic] += item.minute_count
    views = {view.group: view for view in case.views}
    for (group, topic), count in sorted(handed.items()):
        view = views.get(group)
        if view is None or view.silent or (group, topic) in back or (group, topic) not in moved:
            continue
        passed = moved[group, topic]
        if count < _RATIO * (passed + _held(view, topic)) or count - passed < _LEAST:
            continue
        subject = Subject(kind=SubjectKind.GROUP, group=group, topic=topic)
        if case.settling(view):
            yield restarting(subject, Reason.RESTARTING_STANDING, count)
            continue
        yield Verdict(
            subject=subject,
            params={"group": group, "topic": topic},
            evidence={
                "handed_count": count,
                "moved_count": passed,
                "window_ms": _age_ms(case, before),
            },
        )


def _age_ms(case: ClusterCase, look: ClusterSnapshot) -> int:
    return case.now_ms - look.origin.observed_at_ms


def _moved(before: ClusterSnapshot, case: ClusterCase) -> tuple[Counter[tuple[str, str]], set[tuple[str, str]]]:
    """Returns by group and topic what offsets passed since a look, and those of which one went back."""
    then = {
        (item.group, broker.name or "", item.topic, item.queue_id): item.offset
        for broker in before.brokers
        for item in broker.consumer_offsets
    }
    moved: Counter[tuple[str, str]] = Counter()
    back = set()
    for (group, queue), offset in case.committed.items():
        old = then.get((group, queue.broker_name, queue.topic, queue.queue_id))
        if old is None:
            moved[group, queue.topic] += offset  # at most: it begins somewhere
        else:
            moved[group, queue.topic] += offset - old
            if offset < old:
                back.add((group, queue.topic))
    return moved, back


def _held(view: GroupView, topic: str) -> int:
    return sum(
        held.cached_count + held.transaction_count
        for info in view.running.values()
        for held in info.queues
        if held.queue.topic == topic and not held.dropped
    )
