"""Membership and subscription rules beyond one fault at a time: normal forms, restarts, silence that is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.model.finding import Confidence, Severity
from mqctl.model.member import Subscription
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import Settings, diagnose
from tests.rules.group_faults import SCENES, popping
from tests.rules.live_faults import after, standing_at, taking_turns
from tests.rules.live_snapshots import (
    BROKERS,
    LIVE,
    NOW,
    ONE,
    TWO,
    member,
    saying,
    subscribing,
    with_members,
    with_second,
)


def _tagged(expression: str, *tags: str) -> Subscription:
    return Subscription(topic="Pay", expression=expression, tags=tags, version_ms=NOW)


def _codes(snapshot: object, **options: object) -> list[str]:
    return [item.code for item in diagnose(snapshot, **options).findings]  # type: ignore[arg-type]


def test_the_order_and_spacing_of_tags_make_no_difference() -> None:
    one = subscribing(_tagged("a||b", "a", "b"))(LIVE.running[0])
    two = subscribing(_tagged("b || a", "b", "a"))(LIVE.running[1])
    assert _codes(replace(LIVE, running=(one, two))) == []


def test_sides_name_who_wants_what_and_what_the_broker_filters_by() -> None:
    (finding,) = diagnose(SCENES["MQ203"]).findings
    sides = f"{ONE}: *; {TWO}: b"
    unsampled = dict.fromkeys(("queues", "filtered", "dropped"))
    assert finding.params == {"group": "G", "topic": "Pay", "sides": sides, "effective": "*", **unsampled}


def test_a_member_that_says_nothing_is_unknown_not_equal() -> None:
    silent = replace(LIVE, running=LIVE.running[:1])
    diagnosis = diagnose(silent, only=("MQ202",))
    assert diagnosis.findings == ()
    assert [gap.why.values["clients"] == TWO for gap in diagnosis.not_judged] == [True]
    assert diagnosis.exit_code() == 3


def test_a_client_seen_at_another_port_by_each_broker_is_one_client() -> None:
    elsewhere = with_members(only=BROKERS[1], members=(member(ONE, 6_001), member(TWO, 6_002)))
    assert _codes(elsewhere) == []


def test_a_difference_of_membership_that_a_second_look_does_not_find_is_no_fault() -> None:
    apart = SCENES["MQ206"]
    assert diagnose(apart).findings[0].confidence is Confidence.LOW
    assert _codes(replace(apart, earlier=LIVE)) == []
    (lasting,) = diagnose(replace(apart, earlier=apart)).findings
    assert (lasting.severity, lasting.confidence) == (Severity.ERROR, Confidence.HIGH)


def test_a_rolling_restart_is_no_disagreement_and_time_scales() -> None:
    apart = SCENES["MQ206"]
    young = saying(PROP_CONSUMER_START_TIMESTAMP=str(NOW - 30_000))(apart.running[1])
    restarting = replace(apart, running=(apart.running[0], young))
    assert _codes(restarting) == []
    assert _codes(restarting, settings=Settings(time_scale=20)) == ["MQ206"]


def test_name_server_lists_that_overlap_are_one_cluster() -> None:
    more = with_second(saying(PROP_NAMESERVER_ADDR="192.0.2.70:9876;192.0.2.7:9876;"))
    assert _codes(more) == []


@pytest.mark.parametrize(
    "scene",
    [
        popping(due_count=3, oldest_due_ms=NOW - 59_999),
        popping(switch="true", retry_count=5, retry_v2_count=2),
        popping(retry_count=5),
    ],
    ids=["revived in a moment", "the second name is read", "the first name only"],
)
def test_pops_as_they_should_be_are_no_fault(scene: ClusterSnapshot) -> None:
    assert diagnose(scene).findings == ()


@pytest.mark.parametrize(("consumed_tps", "codes"), [(0.5, {"MQ315"}), (0.25, {"MQ307", "MQ410"})])
def test_an_offset_that_stands_still_while_its_owner_works_on_other_queues_is_not_stuck(
    consumed_tps: float, codes: set[str]
) -> None:
    """The playbook of a backlog ended with "consumption stands still" where each queue only waited its turn."""
    now = standing_at(600, 1_000)
    now = replace(now, running=(taking_turns(consumed_tps)(now.running[0]), *now.running[1:]))
    findings = diagnose(after(now, standing_at(600, 900)), only=("MQ307", "MQ315", "MQ410")).findings
    assert {finding.code for finding in findings} == codes
