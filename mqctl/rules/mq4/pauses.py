"""MQ428: a group that stops and goes on within a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.audience import APPLICATION, SHARING
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, any_window, restarting, rule

# Three commits of a consumer.
_COMMITTED_BY_MS = 15_000
# Of fewer messages that were to be expected, none is chance.
_EXPECTED = 20

_Place: TypeAlias = tuple[str, str]
"""Group and topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """What a group did in a topic between two samples; `waiting_count` at the second of them."""

    length_ms: int
    moved_count: int
    waiting_count: int
    waited: bool


@rule(
    "MQ428",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService, RemoteBrokerOffsetStore.persistAll",
    needs=(Part.CONSUMER_OFFSETS, Part.QUEUES, Part.MEMBERS, Part.RUNNING_INFO),
    playbook="stuck-consumer",
    groups=SHARING,
    topics=APPLICATION,
    least_window=any_window,
    texts=RuleTexts(
        title="A group that stops and goes",
        speaks="no offset moves for 20 s of a minute while messages wait",
        silent="the same group has nothing to consume in those 20 s",
        what={
            "": "Group {group} consumed nothing of {topic} for {pause_ms} of {window_ms}, while up to {waiting_count:message} waited; it consumed "
            "{moved_count:message} in the rest.",
        },
        effect="Messages wait as long, though the two ends of the window look well.",
        advice="Look at pauses of the members' JVMs, at what their listeners wait for (a database, a lock, a limit of calls), at rebalancing in their logs, and "
        "whether the application suspends them. `mqctl group lag --watch 5s` shows the moments.",
        explain="Looks at the offsets of each group with members every 20 s of the window, four times at least. Between two samples 15 s apart or more, and "
        "twice as far apart as a listener's call takes, no offset moved, messages waited at both, and at the rate of the other samples 20 or more were to be expected.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def stops_and_goes(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group none of whose offsets in a topic moved between two samples, and that consumes at the others."""
    if not case.snapshot.between:
        return
    views = {view.group: view for view in case.views}
    for (group, topic), stretches in sorted(_stretches(case.looks).items()):
        view = views.get(group)
        if view is None:
            continue
        longest_ms = max((rate.consume_rt_ms for info in view.running.values() for rate in info.rates), default=0.0)
        least_ms = max(case.settings.scaled(_COMMITTED_BY_MS), 2 * longest_ms)
        stood = [item for item in stretches if not item.moved_count and item.waited and item.length_ms >= least_ms]
        moved = sum(max(0, item.moved_count) for item in stretches)
        pause_ms, whole_ms = (sum(item.length_ms for item in some) for some in (stood, stretches))
        if not stood or moved * pause_ms < _EXPECTED * (whole_ms - pause_ms) or whole_ms == pause_ms:
            continue
        if case.settling(view):
            subject = Subject(kind=SubjectKind.GROUP, group=group, topic=topic)
            yield restarting(subject, Reason.RESTARTING_STANDING, len(stood))
            continue
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=group, topic=topic),
            params={"group": group, "topic": topic},
            evidence={
                "pause_ms": pause_ms,
                "waiting_count": max(item.waiting_count for item in stood),
                "moved_count": moved,
                "look_count": len(case.looks),
                "window_ms": case.window_ms,
            },
            confidence=Confidence.MEDIUM,
        )


def _stretches(looks: tuple[ClusterSnapshot, ...]) -> dict[_Place, list[_Stretch]]:
    """Returns what each group did in each topic from look to look, over the queues of which every look tells."""
    offsets = [_offsets(look) for look in looks]
    ends = [_ends(look) for look in looks]
    known = set.intersection(*(set(item) for item in offsets))
    queues: dict[_Place, list[MessageQueue]] = {}
    for group, queue in known:
        if all(queue in item for item in ends):
            queues.setdefault((group, queue.topic), []).append(queue)
    moments = [look.origin.observed_at_ms for look in looks]
    stretches: dict[_Place, list[_Stretch]] = {}
    for (group, topic), some in queues.items():
        reached = [sum(item[group, queue] for queue in some) for item in offsets]
        waiting = [
            sum(max(0, end[queue] - item[group, queue]) for queue in some)
            for item, end in zip(offsets, ends, strict=True)
        ]
        stretches[group, topic] = [
            _Stretch(
                length_ms=moments[number + 1] - moments[number],
                moved_count=reached[number + 1] - reached[number],
                waiting_count=waiting[number + 1],
                waited=waiting[number] > 0 and waiting[number + 1] > 0,
            )
            for number in range(len(looks) - 1)
        ]
    return stretches


def _offsets(look: ClusterSnapshot) -> dict[tuple[str, MessageQueue], int]:
    return {
        (item.group, MessageQueue(item.topic, broker.name or "", item.queue_id)): item.offset
        for broker in look.brokers
        for item in broker.consumer_offsets
    }


def _ends(look: ClusterSnapshot) -> dict[MessageQueue, int]:
    return {
        MessageQueue(queue.topic, broker.name or "", queue.queue_id): queue.max_offset
        for broker in look.brokers
        for queue in broker.queues
    }
