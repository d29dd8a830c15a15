"""How much of a backlog a group wants: offsets count messages of all tags, also of those that are filtered out."""

from __future__ import annotations

from mqctl.filter.tags import tag_code
from mqctl.model.lag import GroupLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.rules.engine.rule import Case


@dataclass(frozen=True, slots=True)
class WeighedBacklog:
    """What the tags of the newest messages say of a backlog.

    Attributes:
        wanted_count: messages that the broker's filter lets through, by their share in the sample of each queue.
        sampled_count: messages of the samples.
        nothing_wanted: the samples hold the whole backlog, and nothing in them passes the filter.
    """

    wanted_count: int
    sampled_count: int
    nothing_wanted: bool


def weigh(case: Case, total: GroupLag) -> WeighedBacklog | None:
    """Weighs the backlog of a group in a topic by what the broker filters it by now.

    Returns None where that is not by tag, or a queue that is behind has no sample: all messages count then.
    """
    held = (item for entry in case.broker.memberships if entry.group == total.group for item in entry.subscriptions)
    wanted = next((item for item in held if item.topic == total.topic), None)
    if wanted is None or wanted.expression_type != "TAG" or not wanted.tags:
        return None
    names = {*wanted.tags, *(f"#{tag_code(tag)}" for tag in wanted.tags)}
    estimate, sampled, covered, seen = 0.0, 0, True, 0
    for row in case.lags:
        if (row.group, row.topic) != (total.group, total.topic) or (row.lag_count or 0) <= 0:
            continue
        sample = case.tag_samples.get((row.topic, row.queue_id))
        if sample is None or not sample.message_count or row.consumer_offset is None or row.broker_offset is None:
            return None
        passing = sum(count for tag, count in sample.counts.items() if tag in names)
        estimate += (row.lag_count or 0) * passing / sample.message_count
        seen += passing
        sampled += sample.message_count
        ends = sample.first_offset + sample.message_count
        covered = covered and sample.first_offset <= row.consumer_offset and ends >= row.broker_offset
    if not sampled:
        return None
    return WeighedBacklog(round(estimate), sampled, covered and not seen)
