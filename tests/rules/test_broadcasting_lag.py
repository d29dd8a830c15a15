"""Offsets at brokers of a group whose members broadcast are of an earlier life: nobody makes a lag of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.commands.export.metrics import families
from mqctl.lag.advice import backlog_advice
from mqctl.model.expectation import CheckState, GroupExpectation, Limit
from mqctl.model.member import GroupMembership, MessageModel
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.rules import diagnose
from mqctl.rules.engine.coverage import coverage
from mqctl.rules.engine.expected_groups import hold_groups
from tests.rules.live_snapshots import LIVE, membership

_MODELS = st.sampled_from([MessageModel.BROADCASTING, MessageModel.CLUSTERING, None])


def _world(models: list[MessageModel | None], online: list[bool], behind: int) -> ClusterSnapshot:
    """A group whose membership at each broker has a model, and members or none; so far behind in each queue."""

    def entry(model: MessageModel | None, some: bool) -> GroupMembership:
        usual = membership(message_model=model)
        return usual if some else replace(usual, client_ids=(), members=())

    brokers = tuple(
        replace(
            broker,
            memberships=(entry(model, some),),
            consumer_offsets=tuple(replace(item, offset=1_000 - behind) for item in broker.consumer_offsets),
        )
        for broker, model, some in zip(LIVE.brokers, models, online, strict=True)
    )
    return replace(LIVE, brokers=brokers)


def _exported(world: ClusterSnapshot) -> set[str]:
    return {
        family.name
        for family in families(world)
        for labels, _ in family.samples
        if "G" in labels and family.name.startswith("mqctl_group_lag")
    }


@given(
    models=st.lists(_MODELS, min_size=2, max_size=2),
    online=st.lists(st.booleans(), min_size=2, max_size=2),
    behind=st.integers(0, 1_000),
    most=st.integers(0, 3_000),
)
def test_lag_is_known_of_all_groups_but_those_whose_members_all_broadcast(
    models: list[MessageModel | None], online: list[bool], behind: int, most: int
) -> None:
    world = _world(models, online, behind)
    heard = {model for model, some in zip(models, online, strict=True) if some}
    local = heard == {MessageModel.BROADCASTING}
    (result,) = hold_groups(world, [GroupExpectation(group="G", lag_count=Limit(error=most))])
    expected = CheckState.ERROR if 4 * behind > most else CheckState.OK
    assert result.state is (CheckState.UNKNOWN if local else expected)
    assert (result.key == "check-group-broadcasts") == local
    assert bool(_exported(world)) == (not local)
    assert bool(backlog_advice(world, Settings())) == (not local)


@given(
    group=st.from_regex(r"[a-zA-Z0-9_-]{1,30}", fullmatch=True),
    offset=st.integers(0, 2_000),
    behind=st.sampled_from(["G", "wide"]),
)
def test_what_brokers_keep_of_members_that_broadcast_is_no_group(group: str, offset: int, behind: str) -> None:
    """Brokers of 5.x keep offsets of a group that broadcasts under GROUP@broadcast; nobody is online by that name, and
    it has no settings."""
    brokers = tuple(
        replace(
            broker,
            consumer_offsets=(
                *broker.consumer_offsets,
                *(
                    replace(item, group=f"{name}@broadcast", offset=offset)
                    for item in broker.consumer_offsets
                    for name in {group, behind}
                ),
            ),
        )
        for broker in LIVE.brokers
    )
    world = replace(LIVE, brokers=brokers)
    assert diagnose(world).findings == ()
    assert [item.name for item in coverage(diagnose(world), world)] == ["G"]
    every = GroupExpectation(group="*", members_min=1, lag_count=Limit(error=10_000))
    assert {result.name for result in hold_groups(world, [every])} == {"G"}
