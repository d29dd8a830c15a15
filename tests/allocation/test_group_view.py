"""A group put together from what brokers and members say of it."""

from __future__ import annotations

from dataclasses import replace

from mqctl.allocation.group_view import (
    GroupView,
    differing_since_ms,
    group_views,
    known_groups,
    losses_of,
    named_clients,
    newest_change_ms,
    queue_names,
    refusing_brokers,
    tags_of,
    wanted_text,
)
from mqctl.allocation.tag_loss import TagLoss
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.finding import SubjectKind
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import (
    POP,
    PULL,
    GroupMembership,
    HeldQueue,
    Member,
    MessageModel,
    RunningInfo,
    Subscription,
)
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, TagSample
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.thresholds import Settings
from tests.each import each

FIRST_MS = 1_325_376_000_000
"""The first of January 2012, before which there was no RocketMQ."""


def tagged(topic: str, *tags: str, version_ms: int = 0) -> Subscription:
    return Subscription(topic=topic, tags=tags, version_ms=version_ms)


def group(**changes: object) -> GroupMembership:
    usual = GroupMembership(group="G", client_ids=("b", "a"), subscriptions=(tagged("T"),))
    return replace(usual, **changes)  # type: ignore[arg-type]


def info(client: str, *wanted: Subscription, **changes: object) -> RunningInfo:
    return replace(RunningInfo(group="G", client_id=client, subscriptions=wanted), **changes)  # type: ignore[arg-type]


def view(*memberships: GroupMembership, running: tuple[RunningInfo, ...] = ()) -> GroupView:
    return GroupView(
        group="G",
        memberships={f"broker-{number}": item for number, item in enumerate(memberships)},
        running={item.client_id: item for item in running},
    )


def snapshot(*brokers: BrokerSnapshot, running: tuple[RunningInfo, ...] = ()) -> ClusterSnapshot:
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=9, observed_from=ObservedFrom.CLOCK),
        brokers=brokers,
        running=running,
    )


def test_members_of_all_brokers_once_each() -> None:
    seen = view(
        group(members=(Member(client_id="b", address="2"), Member(client_id="a", address="1"))),
        group(client_ids=("c", "a"), members=(Member(client_id="a", address="1"), Member(client_id="a", address="0"))),
        running=(info("a"),),
    )
    assert (seen.client_ids, seen.silent) == (("a", "b", "c"), ("b", "c"))
    assert [(item.client_id, item.address) for item in seen.members()] == [("a", "0"), ("a", "1"), ("b", "2")]
    assert (seen.subject.kind, seen.subject.group) == (SubjectKind.GROUP, "G")


@each(
    "seen, broadcasting, pops, pulls, behind_proxy",
    [
        (view(group()), False, False, False, False),
        (view(), False, False, False, False),
        (view(group(), group(message_model=MessageModel.BROADCASTING)), True, False, False, False),
        (view(group(message_model=MessageModel.CLUSTERING)), False, False, False, False),
        (view(group(), group(consume_type=POP)), False, True, False, False),
        (view(group(), group(consume_type=PULL)), False, False, True, False),
        (view(group(popped_topics=("T",))), False, True, False, False),
        (view(group(), group(popped_topics=("T", "U"))), False, True, False, False),
        (view(group(popped_topics=("U",))), False, False, False, False),
        (view(group(subscriptions=(), popped_topics=("U",))), False, False, False, False),
        (view(group(subscriptions=(tagged("T"), tagged("U")), popped_topics=("U",))), False, False, False, False),
        (view(group(subscriptions=(tagged("T"), tagged("%RETRY%G")), popped_topics=("T",))), False, True, False, False),
        (view(group(), running=(info("a"), info("b", pops=True))), False, True, False, False),
        (view(group(proxied={"a": "p"})), False, False, False, True),
        (view(group(client_ids=("a", "host@7@0@1abc"))), False, False, False, True),
        (view(group(client_ids=("a", "host@7"))), False, False, False, False),
    ],
)
def test_who_shares_queues(seen: GroupView, broadcasting: bool, pops: bool, pulls: bool, behind_proxy: bool) -> None:
    assert (seen.broadcasting, seen.pops, seen.pulls, seen.behind_proxy) == (broadcasting, pops, pulls, behind_proxy)
    assert seen.shares is not any((broadcasting, pops, pulls, behind_proxy))


@each(
    "said, orderly",
    [((), False), ((None,), False), (("false",), False), (("true",), True), (("false", "true"), True)],
)
def test_one_orderly_listener_makes_an_orderly_group(said: tuple[str | None, ...], orderly: bool) -> None:
    running = tuple(
        info(str(number), properties={"PROP_CONSUMEORDERLY": text} if text else {}) for number, text in enumerate(said)
    )
    assert view(group(), running=running).orderly is orderly


@each(
    "starts, scale, settling",
    [
        ((), 1, False),
        ((None,), 1, False),
        ((0,), 1, False),
        ((880_001,), 1, True),
        ((880_000,), 1, False),
        ((1, 880_001), 1, True),
        ((880_001,), 10, False),
        ((988_001,), 10, True),
    ],
)
def test_a_group_settles_for_two_minutes(starts: tuple[int | None, ...], scale: float, settling: bool) -> None:
    running = tuple(
        info(str(number), properties={} if at is None else {"PROP_CONSUMER_START_TIMESTAMP": str(at)})
        for number, at in enumerate(starts)
    )
    assert view(group(), running=running).settling(1_000_000, Settings(time_scale=scale)) is settling


def test_what_members_and_brokers_want_of_a_topic() -> None:
    old, new = tagged("T", "x", version_ms=1), tagged("T", "y", version_ms=2)
    seen = view(
        group(subscriptions=(new, tagged("V", version_ms=9))),
        group(subscriptions=(old,)),
        running=(info("a", tagged("U"), old), info("b", tagged("%RETRY%G")), info("c", new)),
    )
    assert (seen.subscription("a", "T"), seen.subscription("b", "T"), seen.subscription("z", "T")) == (old, None, None)
    assert seen.subscriptions("T") == {"a": old, "c": new}
    assert seen.topics() == ("T", "U", "V")
    assert (seen.effective("T"), seen.effective("U")) == (new, None)


def test_groups_with_members_and_groups_that_are_known() -> None:
    system = "CID_RMQ_SYS_TRANS"
    brokers = (
        BrokerSnapshot(
            name="a",
            groups=(SubscriptionGroupConfig(name="only-set"), SubscriptionGroupConfig(name=system)),
            memberships=(group(group="Z"), group(group=system)),
        ),
        BrokerSnapshot(
            name=None,
            memberships=(group(group="A"), group(group="Z", client_ids=())),
            consumer_offsets=(ConsumerOffsetState(group="only-offsets", topic="T", queue_id=0, offset=1),),
        ),
    )
    running = (info("a", group="Z"), info("b", group="Z"), info("a", group="other"))
    first, second = group_views(snapshot(*brokers, running=running))
    assert (first.group, list(first.memberships), dict(first.running)) == ("A", [""], {})
    assert (second.group, list(second.memberships), list(second.running)) == ("Z", ["a", ""], ["a", "b"])
    assert known_groups(snapshot(*brokers)) == {"only-set", "only-offsets", "A", "Z"}


@each(
    "versions, newest",
    [
        ([], None),
        ([0, 1, 2], None),
        ([FIRST_MS - 1], None),
        ([FIRST_MS], FIRST_MS),
        ([FIRST_MS + 5, FIRST_MS, 7], FIRST_MS + 5),
    ],
)
def test_versions_that_are_times(versions: list[int], newest: int | None) -> None:
    assert newest_change_ms(versions) == newest


def started(client: str, start_ms: int | None, version_ms: int | None = None) -> RunningInfo:
    wanted = () if version_ms is None else (tagged("T", version_ms=version_ms),)
    properties = {} if start_ms is None else {"PROP_CONSUMER_START_TIMESTAMP": str(start_ms)}
    return info(client, *wanted, properties=properties)


@each(
    "sides, since",
    [
        ({"x": ["a"]}, None),
        ({}, None),
        ({"x": ["a"], "y": ["b"]}, 20),
        ({"y": ["b"], "x": ["a"]}, 20),
        ({"x": ["a", "b"], "y": ["c"]}, 30),
        ({"x": ["a"], "y": ["b"], "z": ["c"]}, 20),
        ({"x": ["a"], "y": ["silent"]}, None),
        ({"x": ["a"], "y": ["silent", "c"]}, 30),
        ({"x": ["a"], "y": ["no-time"]}, None),
        ({"x": ["a"], "y": ["version"]}, 40),
        ({"x": ["a"], "y": ["both"]}, 50),
        ({"x": ["a"], "y": ["oldest"]}, 0),
    ],
)
def test_since_when_two_sides_are_online(sides: dict[str, list[str]], since: int | None) -> None:
    running = (
        started("a", FIRST_MS + 10),
        started("b", FIRST_MS + 20),
        started("c", FIRST_MS + 30),
        started("no-time", None, 3),
        started("version", 5, FIRST_MS + 40),
        started("both", FIRST_MS + 60, FIRST_MS + 50),
        started("oldest", FIRST_MS, 1),
    )
    expected = None if since is None else FIRST_MS + max(since, 10)
    assert differing_since_ms(view(group(), running=running), "T", sides) == expected


@each(
    "count, text",
    [(0, ""), (1, "c0"), (3, "c0, c1, c2"), (4, "c0, c1, c2 (+1)"), (9, "c0, c1, c2 (+6)")],
)
def test_three_clients_by_name(count: int, text: str) -> None:
    assert named_clients(f"c{number}" for number in reversed(range(count))) == text


@each(
    "count, text",
    [
        (0, ""),
        (2, "b/0, b/1"),
        (6, "b/0, b/1, b/2, b/3, b/4, b/5"),
        (7, "b/0, b/1, b/2, b/3, b/4, b/5 (+1)"),
        (9, "b/0, b/1, b/2, b/3, b/4, b/5 (+3)"),
    ],
)
def test_six_queues_by_name(count: int, text: str) -> None:
    assert queue_names([MessageQueue("T", "b", number) for number in reversed(range(count))]) == text


@each(
    "subscription, text, tags",
    [
        (None, "-", frozenset()),
        (tagged("T"), "*", None),
        (tagged("T", "b", "a"), "a || b", frozenset("ab")),
        (Subscription(topic="T", expression="x > 1", expression_type="SQL92"), "SQL92 x > 1", None),
    ],
)
def test_what_is_wanted_in_words_and_as_tags(
    subscription: Subscription | None, text: str, tags: frozenset[str] | None
) -> None:
    assert (wanted_text(subscription), tags_of(subscription)) == (text, tags)


NO_AUTO = {"autoCreateSubscriptionGroup": "false"}


@each(
    "broker, refuses",
    [
        (BrokerSnapshot(name="broker-0", config=NO_AUTO), True),
        (BrokerSnapshot(name="broker-0", config={}), False),
        (BrokerSnapshot(name="broker-9", config=NO_AUTO), False),
        (BrokerSnapshot(name="broker-0", config=NO_AUTO, groups=(SubscriptionGroupConfig(name="G"),)), False),
        (BrokerSnapshot(name="broker-0", config=NO_AUTO, groups=(SubscriptionGroupConfig(name="H"),)), True),
        (
            BrokerSnapshot(
                name="broker-0",
                config=NO_AUTO,
                groups=(SubscriptionGroupConfig(name="H"), SubscriptionGroupConfig(name="G")),
            ),
            False,
        ),
        (
            BrokerSnapshot(
                name="broker-0",
                config=NO_AUTO,
                unavailable=(Gap(part=Part.GROUPS, cause=Cause.SILENT, reason="no answer"),),
            ),
            False,
        ),
    ],
)
def test_who_refuses_a_group_that_it_does_not_know(broker: BrokerSnapshot, refuses: bool) -> None:
    assert refusing_brokers(view(group()), snapshot(broker)) == (["broker-0"] if refuses else [])


def test_what_a_group_loses_of_one_topic() -> None:
    first, second, other = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1), MessageQueue("U", "b", 0)
    running = (
        info("a", tagged("T", "x"), queues=(HeldQueue(queue=first, commit_offset=0),)),
        info(
            "b",
            tagged("T", "y"),
            queues=(
                HeldQueue(queue=second, commit_offset=0),
                HeldQueue(queue=first, commit_offset=0, dropped=True),
            ),
        ),
    )
    samples = [TagSample(queue=queue, first_offset=0, counts={"x": 3, "y": 5}) for queue in (first, second, other)]
    none = view(group(subscriptions=()), running=running)
    assert losses_of(none, "T", samples) == [
        TagLoss(tag="y", message_count=10, lost_count=5, queues=((first, "a"),)),
        TagLoss(tag="x", message_count=6, lost_count=3, queues=((second, "b"),)),
    ]
    by_x = view(group(subscriptions=(tagged("T", "x"),)), running=running)
    assert [(loss.tag, loss.lost_count) for loss in losses_of(by_x, "T", samples)] == [("y", 10), ("x", 3)]
    assert losses_of(none, "V", samples) == []
