"""The last minutes of a recording as series of numbers: rates of brokers and topics, lag of groups and queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mqctl.recording.kinds import Key, RowKind, State, Values
from mqctl.recording.reader import Recording

Points = list[tuple[int, float]]
"""Moments in epoch milliseconds, each with its number."""
_KINDS = (RowKind.BROKERS, RowKind.QUEUES, RowKind.OFFSETS)
_PUT_TPS, _MAX_OFFSET, _OFFSET = 4, 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentNumbers:
    """What the last looks of a recorder saw.

    Attributes:
        brokers: messages a second that come in, by name and id.
        topics: messages a second that come in, by name.
        groups: lag by group and topic.
        queues: lag by group, topic, broker and queue id.
    """

    brokers: dict[tuple[str, int], Points] = field(default_factory=lambda: defaultdict(list))
    topics: dict[str, Points] = field(default_factory=lambda: defaultdict(list))
    groups: dict[tuple[str, str], Points] = field(default_factory=lambda: defaultdict(list))
    queues: dict[tuple[str, str, str, int], Points] = field(default_factory=lambda: defaultdict(list))


def recent_numbers(recording: Recording, since_ms: int) -> RecentNumbers:
    """Returns what was recorded from a moment on; what a file holds that cannot be read is left out."""
    numbers = RecentNumbers()
    before: tuple[int, dict[str, int]] | None = None
    for moment_ms, state in _states(recording, since_ms):
        ends = {key: int(values[_MAX_OFFSET] or 0) for key, values in state[RowKind.QUEUES].items()}
        for (broker, number), values in state[RowKind.BROKERS].items():
            if values[_PUT_TPS] is not None:
                numbers.brokers[str(broker), int(number or 0)].append((moment_ms, float(values[_PUT_TPS] or 0)))
        sums: dict[str, int] = defaultdict(int)
        for (_, topic, _), end in ends.items():
            sums[str(topic)] += end
        if before is not None:
            for topic, end in sums.items():
                grown = end - before[1].get(topic, end)
                numbers.topics[topic].append((moment_ms, max(0, grown) * 1000 / (moment_ms - before[0])))
        before = moment_ms, sums
        _take_lags(numbers, moment_ms, ends, state[RowKind.OFFSETS])
    return numbers


def _take_lags(numbers: RecentNumbers, moment_ms: int, ends: Mapping[Key, int], offsets: Mapping[Key, Values]) -> None:
    lags: dict[tuple[str, str], int] = defaultdict(int)
    for (broker, group, topic, queue_id), values in offsets.items():
        end = ends.get((broker, topic, queue_id))
        if end is None or values[_OFFSET] is None:
            continue
        lag = max(0, end - int(values[_OFFSET] or 0))
        lags[str(group), str(topic)] += lag
        numbers.queues[str(group), str(topic), str(broker), int(queue_id or 0)].append((moment_ms, lag))
    for key, lag in lags.items():
        numbers.groups[key].append((moment_ms, lag))


def _states(recording: Recording, since_ms: int) -> Iterator[tuple[int, State]]:
    """Yields each answered look from a moment on with how everything stood at it."""
    moments = [look.moment_ms for look in recording.looks if look.has_rows and look.moment_ms >= since_ms]
    if not moments:
        return
    state = recording.state_at(moments[0], _KINDS)
    changed: dict[tuple[RowKind, int], list[tuple[Key, Values | None]]] = defaultdict(list)
    for kind in _KINDS:
        for change in recording.changes(kind, moments[0] + 1, moments[-1]):
            changed[kind, change.moment_ms].append((change.key, change.values))
    for moment_ms in moments:
        for kind in _KINDS:
            for key, values in changed[kind, moment_ms]:
                if values is None:
                    state[kind].pop(key, None)
                else:
                    state[kind][key] = values
        yield moment_ms, state
