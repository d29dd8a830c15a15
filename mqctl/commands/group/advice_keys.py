"""The keys of what waits for orderly groups, read from brokers, and what one thread for each key would do for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.allocation.key_forecast import key_forecast
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.sources.key_samples import live_sample
from mqctl.errors import MqctlError
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.remedies import of_keys
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.live.asking import Asking

_READ = 256
"""Messages read of each queue."""
_MOST = 10
"""Backlogs whose keys are read: messages are asked for one queue after the other."""


def with_keys(
    target: ClusterTarget, snapshot: ClusterSnapshot, advices: Sequence[BacklogAdvice]
) -> tuple[list[BacklogAdvice], list[Gap]]:
    """Reads the first messages that wait in each queue of orderly groups; nothing is committed.

    Returns:
        The advices, those of the first backlogs with what their keys say, and what could not be read.
    """
    gaps: list[Gap] = []
    advised = list(advices)
    fitting = [number for number, advice in enumerate(advised) if _has_reason(advice)][:_MOST]
    with target.open() as cluster:
        for number in fitting:
            advice = advised[number]
            waiting = {flow.queue: flow.waiting_count for flow in advice.queues if flow.waiting_count}
            begins = {
                flow.queue: flow.next_offset
                for flow in advice.queues
                if flow.waiting_count and flow.next_offset is not None
            }
            asking = Asking(cluster, target.deadline())
            try:
                sample = live_sample(asking, advice.topic, key=None, count=_READ, begins=begins)
            except MqctlError as error:
                gaps.append(Gap.of(Part.MESSAGES, error, GapSubject(topic=advice.topic)))
                continue
            gaps += sample.gaps
            forecast = key_forecast(
                waiting,
                {flow.queue: flow.owner for flow in advice.queues},
                sample.messages,
                thread_count=max(1, (advice.thread_count or 0) // max(1, advice.member_count)),
                lane_tps=advice.lane_tps,
            )
            if forecast is not None:
                advised[number] = replace(
                    advice,
                    remedies=tuple(
                        of_keys(forecast, stuck=remedy.reason == "stuck") if remedy.what == "keys" else remedy
                        for remedy in advice.remedies
                    ),
                )
    return advised, gaps


def _has_reason(advice: BacklogAdvice) -> bool:
    """Whether its listener limits it, and how many threads it has is known."""
    reasons = {remedy.reason for remedy in advice.remedies if remedy.what == "keys"}
    return bool(reasons & {"per_key", "stuck"}) and bool(advice.thread_count)
