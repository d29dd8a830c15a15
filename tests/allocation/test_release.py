"""Grey releases: the forecast equals a count of single messages, and the way by both sets of tags loses nothing."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.release import forecast_losses, safe_steps, union
from mqctl.allocation.tag_loss import Tags, wants
from mqctl.model.queue import MessageQueue

TAGS = st.none() | st.frozensets(st.sampled_from("abc"), min_size=1)
CLIENTS = ["c0", "c1", "c2"]
QUEUES = [MessageQueue("T", "b", number) for number in range(4)]
COUNTS = st.fixed_dictionaries({queue: st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9)) for queue in QUEUES})
OWNERS = st.fixed_dictionaries({queue: st.sampled_from(CLIENTS) for queue in QUEUES})


@given(COUNTS, OWNERS, st.frozensets(st.sampled_from(CLIENTS)), TAGS, TAGS)
def test_a_forecast_is_a_count_of_messages(
    counts: dict[MessageQueue, dict[str, int]],
    owners: dict[MessageQueue, str],
    changed: frozenset[str],
    old: Tags,
    new: Tags,
) -> None:
    for row in forecast_losses(counts, owners, CLIENTS, changed, (old, new)):
        lost = {}
        for name, effective in (("old", old), ("new", new)):
            lost[name] = sum(
                table.get(row.tag, 0)
                for queue, table in counts.items()
                if not (wants(effective, row.tag) and wants(new if owners[queue] in changed else old, row.tag))
            )
        # A tag of nobody online any more is not lost to anybody.
        wanted = any(wants(new if client in changed else old, row.tag) for client in CLIENTS)
        assert (row.lost_if_old, row.lost_if_new) == ((lost["old"], lost["new"]) if wanted else (0, 0))


@given(COUNTS, OWNERS, TAGS, TAGS)
def test_the_safe_way_loses_nothing_that_both_its_ends_want(
    counts: dict[MessageQueue, dict[str, int]], owners: dict[MessageQueue, str], old: Tags, new: Tags
) -> None:
    steps = safe_steps(counts, owners, CLIENTS, (old, new))
    assert (steps[0].before, steps[-1].after) == (old, new)
    assert all(one.after == two.before for one, two in pairwise(steps))
    assert [step.lost_count for step in steps] == [0] * len(steps)
    if len(steps) == 2:
        assert steps[0].after == union(old, new)
