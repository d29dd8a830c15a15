"""Which rows of the evidence are answered, and when a group that is named and has none is an error."""

from __future__ import annotations

import pytest

from mqctl.errors import NotFoundError
from mqctl.lag.current import LagRequest, current_lag
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.lag import LagEvidence
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.text import key_of
from tests.each import each

NOW = 1_000_000
SYSTEM = "CID_RMQ_SYS_TRANS"


def gap(part: Part) -> Gap:
    return Gap(part=part, cause=Cause.SILENT, reason="no answer")


def evidence(
    name: str | None,
    *places: tuple[str, str],
    broker_id: int = 0,
    at_ms: int = NOW,
    gaps: tuple[Gap, ...] = (),
) -> LagEvidence:
    """Builds a broker with one queue for each group and topic, of ten messages of which four are consumed."""
    return LagEvidence(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=at_ms, observed_from=ObservedFrom.CLOCK),
        name=name,
        broker_id=broker_id,
        queues=tuple(
            QueueState(topic=topic, queue_id=0, min_offset=0, max_offset=10) for topic in {topic for _, topic in places}
        ),
        consumer_offsets=tuple(
            ConsumerOffsetState(group=group, topic=topic, queue_id=0, offset=4, next_store_time_ms=None)
            for group, topic in places
        ),
        unavailable=gaps,
    )


A = evidence("a", ("g", "t"), ("g", "u"), ("h", "t"), (SYSTEM, "t"))
B = evidence("b", ("g", "t"), at_ms=NOW + 5, broker_id=1)


@each(
    "request_, places",
    [
        (LagRequest(), [("g", "t", "a"), ("g", "t", "b"), ("g", "u", "a"), ("h", "t", "a")]),
        (LagRequest(groups=("h",)), [("h", "t", "a")]),
        (LagRequest(topics=("u",)), [("g", "u", "a")]),
        (LagRequest(groups=("g",), topics=("t",)), [("g", "t", "a"), ("g", "t", "b")]),
        (LagRequest(groups=(SYSTEM,)), [(SYSTEM, "t", "a")]),
        (
            LagRequest(topics=("t",), system=True),
            [(SYSTEM, "t", "a"), ("g", "t", "a"), ("g", "t", "b"), ("h", "t", "a")],
        ),
        (LagRequest(topics=("nothing",)), []),
    ],
)
def test_rows_are_those_of_the_groups_and_topics_that_are_named(
    request_: LagRequest, places: list[tuple[str, str, str]]
) -> None:
    report = current_lag([A, B], request_, now_ms=0).report
    assert [(row.group, row.topic, row.broker_name) for row in report.queues] == places
    assert {(item.group, item.topic) for item in report.groups} == {place[:2] for place in places}
    waiting = {(item.group, item.topic): item.lag_count for item in report.groups}
    assert all(waiting[key] == 6 * sum(place[:2] == key for place in places) for key in waiting)


def test_the_moment_is_the_newest_of_the_evidence_and_only_without_any_that_of_the_question() -> None:
    assert current_lag([A, B], LagRequest(), now_ms=7).report.observed_at_ms == NOW + 5
    assert current_lag([], LagRequest(), now_ms=7).report.observed_at_ms == 7


def test_a_slave_that_answers_for_its_master_is_named() -> None:
    assert current_lag([A, B], LagRequest(), now_ms=0).report.slaves == ["b"]
    assert current_lag([evidence(None, ("g", "t"), broker_id=1)], LagRequest(), now_ms=0).report.slaves == []


@each(
    "part, of_lag", [(part, part not in {Part.MEMBERS, Part.RUNNING_INFO, Part.CONSUMPTION, Part.POP}) for part in Part]
)
def test_a_gap_beside_the_lag_is_a_minor_one_and_each_has_its_broker(part: Part, of_lag: bool) -> None:
    lag = current_lag([evidence("c", ("g", "t"), gaps=(gap(part),))], LagRequest(), now_ms=0)
    assert ([item.broker for item in lag.gaps], [item.broker for item in lag.minor_gaps]) == (
        (["c"], []) if of_lag else ([], ["c"])
    )


@each(
    "request_, remedy",
    [
        (LagRequest(groups=("nobody",)), "lag-groups-offsets"),
        (LagRequest(groups=("g", "nobody")), "lag-groups-offsets"),
        (LagRequest(groups=("h",), topics=("u",)), "lag-groups-offsets"),
        (LagRequest(groups=("h",), topics=("v",)), None),
    ],
)
def test_a_group_without_offsets_is_refused_where_every_broker_answered(
    request_: LagRequest, remedy: str | None
) -> None:
    with pytest.raises(NotFoundError) as refused:
        current_lag([A, B, evidence("d", gaps=(gap(Part.MEMBERS),))], request_, now_ms=0)
    assert key_of(refused.value.problem) == "lag-no-consumer-group-offsets"
    assert key_of(refused.value.remedy) == remedy
    silent = evidence("d", gaps=(gap(Part.CONSUMER_OFFSETS),))
    lag = current_lag([A, B, silent], request_, now_ms=0)
    assert {row.group for row in lag.report.queues} <= set(request_.groups)
