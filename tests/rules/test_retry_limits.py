"""MQ423 for whatever groups allow, members report and messages count."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.finding import Reason
from mqctl.rules import diagnose
from tests.rules.live_faults import each_broker
from tests.rules.observed_faults import allowing, retried

_LIMITS = st.integers(0, 1_000)


@given(of_group=_LIMITS, of_members=st.none() | st.just(-1) | _LIMITS, count=st.integers(0, 1_100))
@example(of_group=16, of_members=200, count=17)
@example(of_group=16, of_members=-1, count=17)
@example(of_group=16, of_members=None, count=17)
@example(of_group=16, of_members=None, count=16)
@example(of_group=3, of_members=-1, count=16)
@example(of_group=16, of_members=0, count=16)
def test_more_tries_than_allowed_are_a_fault_only_where_members_tell_what_they_allow(
    of_group: int, of_members: int | None, count: int
) -> None:
    world = retried(count, key=None)
    world = each_broker(
        lambda broker: replace(
            broker,
            newest=retried(count, key=None).brokers[0].newest,
            groups=(SubscriptionGroupConfig(name="G", retry_max_times=of_group),),
        ),
        world.brokers[0].name,
    )
    if of_members is not None:
        world = allowing(str(of_members), world)
    diagnosis = diagnose(world, only=("MQ423",))
    most = max(of_group, 16 if of_members == -1 else of_members or 0)
    beyond = count > most
    tries = [{entry.name: entry.value for entry in item.evidence}["tries_count"] for item in diagnosis.findings]
    said = list(zip([item.params["most"] for item in diagnosis.findings], tries, strict=True))
    assert said == ([(most, count)] if beyond and of_members is not None else [])
    left_open = [(item.why.reason, item.why.values["most"]) for item in diagnosis.not_judged]
    assert left_open == ([(Reason.RETRY_LIMIT, most)] if beyond and of_members is None else [])
