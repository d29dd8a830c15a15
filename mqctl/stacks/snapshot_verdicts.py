"""What the stacks in a snapshot mean: the verdicts behind the rules MQ32x."""

from __future__ import annotations

from mqctl.model.dump import StackDump
from mqctl.model.lag import queue_lags
from mqctl.model.member import RunningInfo
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.stack_look import StackInstance
from mqctl.model.thresholds import Settings
from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import report_threads
from mqctl.stacks.parse import read_dumps
from mqctl.stacks.processes import told_once
from mqctl.stacks.verdict import ConsumerFacts, StackLimits, StackVerdict, verdict


def stack_verdicts(snapshot: ClusterSnapshot, now_ms: int, settings: Settings) -> list[tuple[str, StackVerdict]]:
    """Returns the verdicts about each instance whose stacks the snapshot has, each after its client id."""
    limits, classifier = _limits(settings), Classifier()
    lags = [row for broker in snapshot.brokers for row in queue_lags(broker, now_ms)]
    before = snapshot.earlier.running if snapshot.earlier else ()
    apart_ms = now_ms - snapshot.earlier.origin.observed_at_ms if snapshot.earlier else 0
    earlier = {(info.group, info.client_id): info for info in before}
    instances: list[StackInstance] = []
    verdicts: list[list[StackVerdict]] = []
    for info in snapshot.running:
        dumps = _dumps(info, now_ms) if info.stacks else []
        if dumps:
            facts = ConsumerFacts(
                now_ms=now_ms,
                info=info,
                earlier=earlier.get((info.group, info.client_id)),
                apart_ms=apart_ms,
                lags=[row for row in lags if row.group == info.group],
            )
            verdicts.append(verdict(report_threads(dumps, classifier), facts, limits))
            instances.append(_instance(info, dumps))
    by_instance = told_once(instances, verdicts)
    return [(instance.source, item) for instance, items in zip(instances, by_instance, strict=True) for item in items]


def _instance(info: RunningInfo, dumps: list[StackDump]) -> StackInstance:
    return StackInstance(
        source=info.client_id, group=info.group, client_id=info.client_id, dumps=tuple(dumps), info=info
    )


def _limits(settings: Settings) -> StackLimits:
    blocked_ms = settings.scaled(settings.blocked_ms)
    return StackLimits(
        blocked_ms=blocked_ms,
        pull_stopped_ms=settings.scaled(settings.pull_stopped_ms),
        lock_expired_ms=settings.scaled(settings.lock_expired_ms),
        behind_ms=blocked_ms,
        standing_ms=settings.scaled(StackLimits().standing_ms),
        commit_ms=settings.scaled(StackLimits().commit_ms),
        starting_ms=settings.scaled(StackLimits().starting_ms),
        unpulled_ms=settings.scaled(StackLimits().unpulled_ms),
    )


def _dumps(info: RunningInfo, taken_at_ms: int) -> list[StackDump]:
    texts = [(info.stacks or "", taken_at_ms), *((later.text, later.taken_at_ms) for later in info.later_stacks)]
    return [dump for text, at_ms in texts for dump in read_dumps(text, source=info.client_id, taken_at_ms=at_ms)[:1]]
