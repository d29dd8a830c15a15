"""Grey releases: the forecast equals a count of single messages, and the way by both sets of tags loses nothing."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.release import ReleaseStep, TagForecast, forecast_losses, safe_steps, union
from mqctl.allocation.tag_loss import TagLoss, Tags, tag_losses, wants
from mqctl.model.queue import MessageQueue
from tests.each import each

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


X, Y = frozenset({"x"}), frozenset({"y"})
TWO = {QUEUES[1]: {"x": 3, "y": 5, "z": 9}, QUEUES[0]: {"x": 2, "y": 1}}


@each(
    "owners, wanted, effective, losses",
    [
        ({}, {}, None, []),
        ({QUEUES[0]: "a", QUEUES[1]: "a"}, {"a": X}, X, []),
        ({QUEUES[0]: "a", QUEUES[1]: "a"}, {"a": None}, None, []),
        ({QUEUES[0]: "a", QUEUES[1]: "b"}, {"a": X, "b": Y}, None, [("y", 6, 1, 0, "0a"), ("x", 5, 3, 0, "1b")][::-1]),
        (
            {QUEUES[0]: "a", QUEUES[1]: "b"},
            {"a": X, "b": Y},
            X,
            [("y", 6, 6, 0, "0a 1b"), ("x", 5, 3, 0, "1b")],
        ),
        ({QUEUES[0]: "a"}, {"a": X}, X, [("x", 5, 3, 3, "1nobody")]),
        ({QUEUES[0]: "a", QUEUES[1]: None}, {"a": X}, Y, [("x", 5, 5, 0, "0a 1nobody")]),
        ({QUEUES[0]: "a", QUEUES[1]: "unknown"}, {"a": X}, X, []),
        ({QUEUES[0]: "a", QUEUES[1]: "a"}, {"a": frozenset()}, None, []),
        ({QUEUES[0]: "b", QUEUES[1]: "b"}, {"a": frozenset({"z"}), "b": X}, None, [("z", 9, 9, 0, "1b")]),
    ],
)
def test_what_tags_lose(
    owners: dict[MessageQueue, str | None],
    wanted: dict[str, Tags],
    effective: Tags,
    losses: list[tuple[str, int, int, int, str]],
) -> None:
    assert [
        (
            *(loss.tag, loss.message_count, loss.lost_count, loss.unowned_count),
            " ".join(f"{queue.queue_id}{owner}" for queue, owner in loss.queues),
        )
        for loss in tag_losses(TWO, owners, wanted, effective)
    ] == losses


def test_the_share_that_is_lost() -> None:
    assert TagLoss(tag="x", message_count=8, lost_count=2, queues=()).lost_share == 0.25
    assert TagLoss(tag="x", message_count=0, lost_count=0, queues=()).lost_share == 0.0


def test_a_forecast_by_hand() -> None:
    owners = {QUEUES[0]: "a", QUEUES[1]: "b"}
    xy = frozenset("xy")
    rows = forecast_losses(TWO, owners, ["a", "b"], frozenset("b"), (X, xy))
    places = ((QUEUES[0], "a"), (QUEUES[1], "b"))
    assert rows == [
        TagForecast(tag="y", message_count=6, lost_if_old=6, lost_if_new=1, kept=False, queues=places),
        TagForecast(tag="x", message_count=5, lost_if_old=0, lost_if_new=0, kept=True, queues=()),
    ]
    assert [row.worst for row in rows] == [6, 0]


def test_ways_by_hand() -> None:
    owners = {QUEUES[0]: "a", QUEUES[1]: "b"}
    assert (union(X, Y), union(X, None), union(None, Y)) == (frozenset("xy"), None, None)
    assert safe_steps(TWO, owners, ["a", "b"], (X, Y)) == [
        ReleaseStep(before=X, after=frozenset("xy"), lost_count=0),
        ReleaseStep(before=frozenset("xy"), after=Y, lost_count=0),
    ]
    for pair in ((X, None), (None, X), (X, frozenset("xy")), (X, X)):
        assert safe_steps(TWO, owners, ["a", "b"], pair) == [ReleaseStep(before=pair[0], after=pair[1], lost_count=0)]
    # A queue of nobody loses what both want, wherever the release stands; nobody is on the way with one member.
    gone = {QUEUES[0]: "a", QUEUES[1]: None}
    assert [step.lost_count for step in safe_steps(TWO, gone, ["a", "b"], (X, Y))] == [3, 5]
    assert [step.lost_count for step in safe_steps(TWO, gone, ["a"], (X, Y))] == [0, 0]
