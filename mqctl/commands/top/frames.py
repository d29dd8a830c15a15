"""Frames of `top`: each look joined with those before it."""

from __future__ import annotations

from dataclasses import replace
from time import time

from mqctl.cli.connection.seen_brokers import note_brokers
from mqctl.cli.gaps import gap_lines
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.client.admin.cluster import BrokerAddress
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.top.view import Sort, TopFrame, TopGroup, sorted_groups, top_group
from mqctl.lag.current import LagRequest, current_lag
from mqctl.model.lag import LagEvidence
from mqctl.model.lag_trend import WINDOW_MS, LagLook, look_at, trends, within_window
from mqctl.model.queue import MessageQueue
from mqctl.model.said import said
from mqctl.model.topic_rate import Ends, TopicRate, queue_ends, topic_rates
from mqctl.render.brokers import broker_rows
from mqctl.snapshot.live.top import Owners, TopGatherer, TopLook

_FIRST_RATES = 2
"""From the second look on it is known on which groups anything moves."""


class TopFrames:
    """Makes frames.

    Args:
        shown: for how many groups the owners are asked: those that people see.
        owners_every_ms: how often they are asked.
    """

    def __init__(self, gatherer: TopGatherer, *, shown: int, owners_every_ms: int) -> None:
        self._gatherer = gatherer
        self._owners_every_ms = owners_every_ms
        self._shown = shown
        self._number = 0
        self._seen: set[BrokerAddress] = set()
        self._looks: list[LagLook] = []
        self._ends: list[tuple[int, Ends]] = []
        self._owners: dict[str, dict[MessageQueue, tuple[str, ...]]] = {}
        self._moved: dict[tuple[str, str], int] = {}
        self._modes: dict[tuple[str, str], str] = {}
        self._owners_at_ms: int | None = None
        self._evidence: tuple[LagEvidence, ...] = ()

    def next(self, limit_ms: int, sort: Sort) -> TopFrame:
        """Looks and returns the frame.

        Raises:
            UnreachableError, DeadlineError: no name server answered.
        """
        deadline = Deadline(limit_ms)
        look = self._gatherer.look(deadline, round(time() * 1000))
        self._number += 1
        if (seen := {broker.address for broker in look.brokers}) != self._seen:
            self._seen = seen
            note_brokers(self._gatherer.cluster, seen)
        self._evidence = look.evidence
        lag = current_lag(look.evidence, LagRequest(), now_ms=look.moment_ms)
        newest = look_at(lag.report.observed_at_ms, lag.report.groups, lag.report.queues)
        self._looks = within_window([*self._looks, newest])
        rows = trends(self._looks, self._number)
        first = sorted_groups([self._joined(row.group, row.topic, top_group(row, None, None)) for row in rows], sort)
        due = self._owners_at_ms is None or look.moment_ms - self._owners_at_ms >= self._owners_every_ms
        if due or self._number == _FIRST_RATES:
            self._owners_at_ms = look.moment_ms
            self._ask_owners(deadline, look.moment_ms, [row.group for row in first[: self._shown]])
        groups = [self._joined(row.group, row.topic, row) for row in first]
        gaps = [*broker_gaps(look.brokers), *lag.gaps, *lag.minor_gaps]
        problems = gap_lines(gaps)
        return TopFrame(
            observed_at_ms=look.moment_ms,
            round=self._number,
            brokers=broker_rows(look.brokers),
            groups=sorted_groups(groups, sort),
            topics=self._topics(look, {row.topic for row in groups}),
            problems=problems,
            keyed_problems=said(problems),
            unavailable=gaps,
        )

    def _topics(self, look: TopLook, of_groups: set[str]) -> list[TopicRate]:
        """Returns the topics; where groups were named, those that they have to do with."""
        rates = topic_rates([(item.name, item.queues) for item in look.evidence], *self._before(look))
        return [row for row in rates if row.topic in of_groups] if self._gatherer.groups else rates

    def topics_on(self, broker: str) -> list[TopicRate]:
        """Returns the topics as one broker alone had them at the last look."""
        held = [(item.name, item.queues) for item in self._evidence if item.name == broker]
        (first_ms, ends), (last_ms, _) = self._ends[0], self._ends[-1]
        return topic_rates(held, ends, last_ms - first_ms)

    def _before(self, look: TopLook) -> tuple[Ends, int]:
        """Returns the oldest ends that are kept, and how long ago they were."""
        self._ends.append((look.moment_ms, queue_ends((item.name, item.queues) for item in look.evidence)))
        first_ms = look.moment_ms - WINDOW_MS
        while len(self._ends) > 1 and self._ends[1][0] <= first_ms:
            self._ends.pop(0)
        moment_ms, ends = self._ends[0]
        return ends, look.moment_ms - moment_ms

    def _ask_owners(self, deadline: Deadline, now_ms: int, groups: list[str]) -> None:
        holding = self._gatherer.owners(deadline, now_ms, set(groups))
        for group in holding.known:
            self._note(group, holding.owners)
        self._modes.update(holding.modes)

    def _note(self, group: str, owners: Owners) -> None:
        now = {queue: held_by for (name, queue), held_by in owners.items() if name == group}
        before = self._owners.get(group)
        for queue, held_by in now.items():
            key = (group, queue.topic)
            changed = before is not None and queue in before and before[queue] != held_by
            self._moved[key] = self._moved.get(key, 0) + changed
        self._owners[group] = now

    def _joined(self, group: str, topic: str, row: TopGroup) -> TopGroup:
        held = [held_by for queue, held_by in self._owners.get(group, {}).items() if queue.topic == topic]
        members = len({client for held_by in held for client in held_by}) if held else None
        key = (group, topic)
        return replace(
            row,
            member_count=members,
            owner_change_count=self._moved.get(key),
            consume_mode=self._modes.get(key),
        )
