"""Declared expectations of consumer groups, held against a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mqctl.allocation.group_view import group_views
from mqctl.model.counts import counted
from mqctl.model.expectation import CheckResult, CheckState, GroupExpectation
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import GroupLag, QueueLag, group_lags, queue_lags
from mqctl.model.member import GroupMembership, broadcasting_groups
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, is_system_group
from mqctl.model.names_alike import is_pattern
from mqctl.model.queue_state import QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules.engine.expecting import Checked, amount, exact, meant_by, none_like, result, unknown
from mqctl.rules.engine.gone_brokers import GoneBroker
from mqctl.text import composed, sentence

_BROADCASTS = sentence(
    "check-group-broadcasts",
    "its members broadcast and keep their offsets themselves; those at brokers are of an earlier life",
)
_NOT_EVERY_TOPIC = sentence("check-not-every-topic", "not known for every topic")


def hold_groups(
    snapshot: ClusterSnapshot, declared: Sequence[GroupExpectation], gone: Sequence[GoneBroker] = ()
) -> Iterator[CheckResult]:
    """Yields the results of each group that is declared, by name or by pattern.

    Args:
        gone: brokers that ought to be registered and are not: groups may have queues on them.
    """
    looked = _Looked(snapshot, [Gap.of_unregistered(item.name, Part.QUEUES) for item in gone])
    named = {item.group for item in declared}
    for item in declared:
        meant = meant_by(item.group, item.without, looked.groups, named)
        dead = meant_by(item.group, item.without, looked.only_dead, named) if is_pattern(item.group) else []
        if not (meant or dead) or (looked.lag_gaps and is_pattern(item.group)):
            yield none_like("group", item.group, *looked.lag_gaps[:1])
        for name in meant:
            yield from _one(looked, replace(item, group=name))
        for name in dead:
            yield from _one(looked, replace(item, group=name, lag_count=None, lag_ms=None))


class _Looked:
    """A snapshot by group: thousands of groups are asked for one by one.

    Attributes:
        groups: applications' groups with offsets or members; one that only has settings never consumed.
        only_dead: groups of which nothing is left but dead letters: no lag, and nobody online.
        broadcasting: those whose offsets at brokers say nothing.
        lag_gaps, members_gap: what keeps sums and counts from being known.
    """

    def __init__(self, snapshot: ClusterSnapshot, gone: Sequence[Gap] = ()) -> None:
        self._gone = list(gone)
        self.now_ms = snapshot.origin.observed_at_ms
        self.brokers = snapshot.brokers
        self.earlier = None if snapshot.earlier is None else _Looked(snapshot.earlier)
        self.lags: dict[str, list[GroupLag]] = {}
        self._rows = [queue_lags(broker, self.now_ms) for broker in self.brokers]
        for lag in group_lags(row for rows in self._rows for row in rows):
            self.lags.setdefault(lag.group, []).append(lag)
        self._unfinished = _unfinished(self.brokers, self._rows)
        self.members: dict[str, list[GroupMembership]] = {}
        self._letters: dict[str, list[QueueState]] = {}
        for broker in self.brokers:
            for entry in broker.memberships:
                self.members.setdefault(entry.group, []).append(entry)
            for queue in broker.queues:
                if queue.topic.startswith(DLQ_PREFIX):
                    self._letters.setdefault(queue.topic.removeprefix(DLQ_PREFIX), []).append(queue)
        self.broadcasting = broadcasting_groups(entry for held in self.members.values() for entry in held)
        self.groups = {name for name in self.lags.keys() | self.members.keys() if not is_system_group(name)}
        self.only_dead = {name for name, queues in self._letters.items() if any(item.max_offset for item in queues)}
        self.only_dead -= self.groups
        self.lag_gaps = self._gaps(Part.CONSUMER_OFFSETS, Part.QUEUES)
        gaps = (gap for broker in self.brokers for gap in broker.unavailable if gap.part is Part.MEMBERS)
        self.members_gap = next(gaps, None)
        gaps = (gap for broker in self.brokers for gap in broker.unavailable if gap.part is Part.POP)
        self._pop_gap = next(gaps, None)
        self._pops = {view.group for view in group_views(snapshot) if view.pops} if self._pop_gap else set()

    def gaps_of(self, group: str) -> list[Gap]:
        """Returns what keeps a group's lag from being known: of what it pops brokers have to tell the rest."""
        topics = {lag.topic for lag in self.lags.get(group, ()) if lag.not_read_count}
        unread = self._unread(*topics) if topics else []
        return [*self.lag_gaps, *unread, *([self._pop_gap] if self._pop_gap and group in self._pops else [])]

    def _unread(self, *topics: str) -> list[Gap]:
        """Returns the gaps about queues of topics."""
        gaps = (gap for broker in self.brokers for gap in broker.unavailable if gap.part is Part.QUEUES)
        return [gap for gap in gaps if gap.topic in topics]

    def waiting(self, lag: GroupLag) -> int | None:
        """Returns how many messages a group still has to finish: of what it pops an offset tells only what it got."""
        return None if lag.lag_count is None else self._unfinished.get((lag.group, lag.topic), lag.lag_count)

    def _gaps(self, *parts: Part) -> list[Gap]:
        return [*(gap for broker in self.brokers for part in parts if (gap := broker.lacks(part))), *self._gone]

    def dead_letters(self, group: str, *, held: bool) -> int | Gap | str:
        """Returns how many dead letters are held, or where their queues end; or why that is not known."""
        if not self.brokers:
            return sentence("no-broker-registered", "no broker is registered")
        if gaps := [*self._gaps(Part.QUEUES), *self._unread(DLQ_PREFIX + group)]:
            return gaps[0]
        return sum(queue.max_offset - (queue.min_offset if held else 0) for queue in self._letters.get(group, ()))


def _unfinished(brokers: Sequence[BrokerSnapshot], rows: Sequence[Sequence[QueueLag]]) -> Counter[tuple[str, str]]:
    """Returns what groups have not finished of topics that they pop from a broker; where they pull it is their lag."""
    shares = [{(item.group, item.topic): item for item in broker.pop if item.is_of_pops} for broker in brokers]
    popped = {key for of_broker in shares for key in of_broker}
    counts: Counter[tuple[str, str]] = Counter()
    for of_broker, lags in zip(shares, rows, strict=True):
        for key, share in of_broker.items():
            counts[key] += share.unfinished_count
        for row in lags:
            if (key := (row.group, row.topic)) in popped and key not in of_broker:
                counts[key] += max(0, row.lag_count or 0)
    return counts


def _one(looked: _Looked, expected: GroupExpectation) -> Iterator[CheckResult]:
    subject = Checked("group", expected.group)
    if expected.lag_count is not None or expected.lag_ms is not None:
        yield from _lag(looked, expected, subject)
    members = looked.members.get(expected.group, [])
    gap = looked.members_gap
    if expected.members_min is not None or expected.members_max is not None:
        clients = {client for item in members for client in item.client_ids}
        yield _members(subject, len(clients), expected, gap)
    for topic, expression in expected.subscribes.items():
        held = {
            tuple(sorted(item.tags)) or (item.expression,)
            for entry in members
            for item in entry.subscriptions
            if item.topic == topic
        }
        wanted = tuple(sorted(part.strip() for part in expression.split("||")))
        said = _filtered(topic, "; ".join(sorted(" || ".join(item) for item in held)), expression)
        if not members and gap is not None:
            yield unknown("subscribes", subject, gap)
        else:
            yield exact("subscribes", subject, held == {wanted}, said)
    yield from _dead_letters(looked, expected, subject)


def _filtered(topic: str, shown: str, expression: str) -> str:
    if not shown:
        return sentence(
            "check-filters-nothing",
            "brokers filter {topic} by nothing, declared {expression}",
            topic=topic,
            expression=expression,
        )
    return sentence(
        "check-filters",
        "brokers filter {topic} by {shown}, declared {expression}",
        topic=topic,
        shown=shown,
        expression=expression,
    )


def _lag(looked: _Looked, expected: GroupExpectation, subject: Checked) -> Iterator[CheckResult]:
    gaps = looked.gaps_of(expected.group)
    # Of what is equal an application's topic is named, not the group's own retries.
    lags = sorted(looked.lags.get(expected.group, []), key=lambda lag: lag.topic.startswith(RETRY_PREFIX))
    if not lags or expected.group in looked.broadcasting:
        no_offsets = (
            sentence("check-group-no-offsets", "it has no offsets")
            if expected.group in looked.groups
            else sentence("check-group-unheard-of", "it has no offsets and no members online: check the name")
        )
        reason = _BROADCASTS if expected.group in looked.broadcasting else gaps[0] if gaps else no_offsets
        for name, limit in (("lag", expected.lag_count), ("lag_time", expected.lag_ms)):
            if limit is not None:
                yield unknown(name, subject, reason)
        return
    for name, limit, values, unit in (
        ("lag", expected.lag_count, [looked.waiting(lag) for lag in lags], ""),
        ("lag_time", expected.lag_ms, [lag.lag_ms for lag in lags], "ms"),
    ):
        if limit is None:
            continue
        known = [value for value in values if value is not None]
        most = max(known, default=None)
        topic = lags[values.index(most)].topic if most is not None else ""
        behind = composed("{lag_ms}", lag_ms=round(most or 0)) if unit else counted(round(most or 0), "message")
        said = sentence("check-behind", "{behind} behind on {topic}", behind=behind, topic=topic)
        checked = None if most is None else amount(name, subject, most, limit, said, unit=unit)
        if checked is None or (checked.state is not CheckState.ERROR and (gaps or len(known) < len(values))):
            yield unknown(name, subject, gaps[0] if gaps else _NOT_EVERY_TOPIC)
        else:
            yield checked


def _members(subject: Checked, count: int, expected: GroupExpectation, gap: Gap | None) -> CheckResult:
    least, most = expected.members_min, expected.members_max
    good = (least is None or count >= least) and (most is None or count <= most)
    if not good and gap is not None and (most is None or count <= most):
        return unknown("members", subject, gap)
    state = CheckState.OK if good else CheckState.ERROR
    return result("members", subject, state, _online(count, least, most), value=count)


def _online(count: int, least: int | None, most: int | None) -> str:
    if most is None:
        return sentence("check-members-least", "{count} online, declared at least {least}", count=count, least=least)
    if least is None:
        return sentence("check-members-most", "{count} online, declared at most {most}", count=count, most=most)
    return sentence(
        "check-members",
        "{count} online, declared at least {least} and at most {most}",
        count=count,
        least=least,
        most=most,
    )


def _dead_letters(looked: _Looked, expected: GroupExpectation, subject: Checked) -> Iterator[CheckResult]:
    if expected.dead_letter_count is not None:
        count = looked.dead_letters(expected.group, held=True)
        if not isinstance(count, int):
            yield unknown("dead_letters", subject, count)
        else:
            yield amount("dead_letters", subject, count, expected.dead_letter_count, counted(count, "dead letter"))
    if expected.dead_letter_growth is not None:
        if looked.earlier is None:
            why_not = sentence("check-two-looks", "needs two samples: add --window")
            yield unknown("dead_letter_growth", subject, why_not)
            return
        now = looked.dead_letters(expected.group, held=False)
        if not isinstance(now, int):
            yield unknown("dead_letter_growth", subject, now)
            return
        then = looked.earlier.dead_letters(expected.group, held=False)
        if not isinstance(then, int):
            yield unknown("dead_letter_growth", subject, then)
            return
        window_ms = looked.now_ms - looked.earlier.now_ms
        said = sentence(
            "check-letters-came",
            "{letters} came within {window_ms}",
            letters=counted(now - then, "dead letter"),
            window_ms=window_ms,
        )
        yield amount("dead_letter_growth", subject, now - then, expected.dead_letter_growth, said)
