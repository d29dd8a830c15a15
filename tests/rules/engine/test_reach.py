"""Whom rules are for, and what a diagnosis of part of a cluster leaves in: kinds, scopes, verdicts, coverage."""

from __future__ import annotations

from dataclasses import replace

from mqctl.allocation.group_view import GroupView
from mqctl.model.config import TopicConfig
from mqctl.model.finding import Finding, NotJudged, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import (
    POP,
    PULL,
    GroupMembership,
    HeldQueue,
    MessageModel,
    RunningInfo,
    Subscription,
    TopicRates,
)
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.model.transaction_state import CommittedTransaction, TransactionState
from mqctl.rules import RULES
from mqctl.rules.engine.audience import Audience, GroupKind, TopicKind, kind_of, topic_kind
from mqctl.rules.engine.coverage import Covered, coverage, earned
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.rule import ClusterCase
from mqctl.rules.engine.scope import groups_of, of_topics, topics_of, within
from mqctl.rules.engine.stalled_queues import pushed_instances, queues_in_turn, unfinished_queues
from tests.each import each

NOW = 1_795_218_000_000
MEMBER = GroupMembership(group="G", client_ids=("c",), subscriptions=(Subscription(topic="T"),))


def cluster(*brokers: BrokerSnapshot, kind: OriginKind = OriginKind.LIVE, **parts: object) -> ClusterSnapshot:
    origin = Origin(kind=kind, location="x", observed_at_ms=NOW, observed_from=ObservedFrom.CLOCK)
    made = ClusterSnapshot(origin=origin, brokers=brokers)
    return replace(made, **parts)  # type: ignore[arg-type]


def viewed(membership: GroupMembership, *running: RunningInfo) -> GroupView:
    return GroupView(group="G", memberships={"a": membership}, running={item.client_id: item for item in running})


ORDERLY = RunningInfo(group="G", client_id="c", properties={"PROP_CONSUMEORDERLY": "true"})


@each(
    "view, kind",
    [
        (viewed(MEMBER), GroupKind.CLUSTERING),
        (viewed(MEMBER, ORDERLY), GroupKind.ORDERLY),
        (viewed(replace(MEMBER, consume_type=PULL), ORDERLY), GroupKind.PULL),
        (viewed(replace(MEMBER, consume_type=POP), ORDERLY), GroupKind.POP),
        (viewed(replace(MEMBER, consume_type=POP, proxied={"c": "p"})), GroupKind.PROXY),
        (
            viewed(replace(MEMBER, message_model=MessageModel.BROADCASTING, proxied={"c": "p"})),
            GroupKind.BROADCASTING,
        ),
    ],
)
def test_kinds_of_groups(view: GroupView, kind: GroupKind) -> None:
    assert kind_of(view) is kind


PLAIN, FIFO = TopicConfig(name="T"), TopicConfig(name="T", attributes={"message.type": "FIFO"})
COMPACTED = TopicConfig(name="T", attributes={"+cleanup.policy": "COMPACTION"})


@each(
    "topic, configs, ordered, kind",
    [
        ("T", (), False, TopicKind.NORMAL),
        ("T", (PLAIN,), False, TopicKind.NORMAL),
        ("T", (PLAIN,), True, TopicKind.ORDERED),
        ("T", (PLAIN, replace(PLAIN, order=True)), False, TopicKind.ORDERED),
        ("T", (PLAIN, FIFO), True, TopicKind.FIFO),
        ("T", (FIFO, COMPACTED), True, TopicKind.COMPACTED),
        ("%RETRY%G", (FIFO,), True, TopicKind.RETRY),
        ("%DLQ%G", (), True, TopicKind.DEAD_LETTER),
        ("%LMQ%x", (), True, TopicKind.LIGHT),
        ("TBW102", (FIFO,), True, TopicKind.SYSTEM),
    ],
)
def test_kinds_of_topics(topic: str, configs: tuple[TopicConfig, ...], ordered: bool, kind: TopicKind) -> None:
    assert topic_kind(topic, configs, ordered=ordered) is kind


def test_an_audience_knows_members_only_where_it_is_live() -> None:
    routes = (TopicRoute(topic="T", order_conf="a:1"), TopicRoute(topic="U", order_conf=""))
    snapshot = cluster(
        BrokerSnapshot(name="a", memberships=(MEMBER,), topics=(replace(PLAIN, name="V"),)),
        BrokerSnapshot(name="b", topics=(replace(FIFO, name="V"),)),
        name_servers=(NameServerView(address="ns", routes=routes),),
    )
    live, files = Audience(snapshot, live=True), Audience(snapshot, live=False)
    assert [live.group(name) for name in ("G", "H", "CID_RMQ_SYS_TRANS")] == [
        GroupKind.CLUSTERING,
        GroupKind.OFFLINE,
        GroupKind.SYSTEM,
    ]
    assert [files.group(name) for name in ("G", "CID_RMQ_SYS_TRANS")] == [None, GroupKind.SYSTEM]
    assert [live.topic(name) for name in "TUVW"] == [
        TopicKind.ORDERED,
        TopicKind.NORMAL,
        TopicKind.FIFO,
        TopicKind.NORMAL,
    ]


def about(**names: str) -> Finding:
    kind = SubjectKind.PRODUCER_GROUP if names.pop("producer", None) else SubjectKind.CLUSTER
    return Finding(code="MQ401", severity=Severity.WARNING, subject=Subject(kind=kind, **names))  # type: ignore[arg-type]


EVERY = {
    "nothing": about(),
    "G": about(group="G"),
    "H": about(group="H"),
    "T": about(topic="T"),
    "U": about(topic="U"),
    "GT": about(group="G", topic="T"),
    "HU": about(group="H", topic="U"),
    "a": about(broker="a"),
    "bG": about(broker="b", group="G"),
    "producers": about(group="P", producer="yes"),
}


@each(
    "options, left",
    [
        ({}, "nothing G H T U GT HU a bG producers"),
        ({"groups": [], "topics": (), "brokers": set()}, "nothing G H T U GT HU a bG producers"),
        ({"groups": ["G"]}, "nothing G T U GT a bG"),
        ({"topics": ["T"]}, "nothing G H T GT a bG producers"),
        ({"brokers": ["a"]}, "nothing G H T U GT HU a producers"),
        ({"groups": ["G"], "topics": ["T"]}, "nothing G T GT a bG"),
        ({"groups": ["G"], "used": {"T"}}, "nothing G T GT a bG"),
        ({"used": {"T"}}, "nothing G H T GT HU a bG producers"),
        ({"users": {"G"}}, "nothing G T U GT HU a bG producers"),
        ({"users": set()}, "nothing T U GT HU a producers"),
    ],
)
def test_what_concerns_what_was_asked_for(options: dict[str, list[str]], left: str) -> None:
    gaps = tuple(NotJudged(code="MQ1", subject=item.subject, why=Why(Reason.GAP)) for item in EVERY.values())
    diagnosis = Diagnosis(findings=tuple(EVERY.values()), not_judged=gaps, rules_run=("MQ1",))
    scoped = within(diagnosis, **options)
    expected = [EVERY[name] for name in left.split()]
    assert list(scoped.findings) == expected
    assert [item.subject for item in scoped.not_judged] == [item.subject for item in expected]


USING = cluster(
    BrokerSnapshot(
        name="a",
        memberships=(MEMBER, replace(MEMBER, group="H", subscriptions=(Subscription(topic="U"),))),
        consumer_offsets=(
            ConsumerOffsetState(group="G", topic="V", queue_id=0, offset=1),
            ConsumerOffsetState(group="I", topic="T", queue_id=0, offset=1),
        ),
    ),
    running=(
        RunningInfo(group="G", client_id="c", subscriptions=(Subscription(topic="W"),)),
        RunningInfo(group="J", client_id="d", subscriptions=(Subscription(topic="T"),)),
    ),
)


def test_topics_of_groups_and_groups_of_topics() -> None:
    assert topics_of(USING, ["G"]) == {"T", "V", "W", "%RETRY%G", "%DLQ%G"}
    assert topics_of(USING, ["H", "I"]) == {"T", "U", "%RETRY%H", "%DLQ%H", "%RETRY%I", "%DLQ%I"}
    assert groups_of(USING, ["T"]) == {"G", "I", "J"}
    assert groups_of(USING, ["%DLQ%Z", "U"]) == {"Z", "H"}
    untold = [
        replace(
            USING, brokers=(replace(USING.brokers[0], unavailable=(Gap(part=part, cause=Cause.SILENT, reason="x"),)),)
        )
        for part in (Part.MEMBERS, Part.CONSUMER_OFFSETS)
    ]
    files = replace(USING, origin=replace(USING.origin, kind=OriginKind.STORE))
    for snapshot in (*untold, files):
        assert (topics_of(snapshot, ["G"]), groups_of(snapshot, ["T"])) == (None, None)
    assert (topics_of(USING, []), groups_of(USING, ())) == (None, None)
    elsewhere = Gap(part=Part.QUEUES, cause=Cause.SILENT, reason="x")
    other = replace(USING, brokers=(replace(USING.brokers[0], unavailable=(elsewhere,)),))
    assert topics_of(other, ["H"]) == {"U", "%RETRY%H", "%DLQ%H"}


def test_transactions_of_other_topics_are_left_out() -> None:
    odd = tuple(
        CommittedTransaction(unique_key=None, topic=name, producer_group=None, half_offset=0, commit_count=2)
        for name in ("T", "U", None)
    )
    state = TransactionState(
        half_min_offset=0, half_max_offset=9, op_min_offset=0, op_max_offset=9, lost_ops=odd, double_commits=odd
    )
    snapshot = cluster(BrokerSnapshot(name="a", transactions=state), BrokerSnapshot(name="b"))
    first, second = of_topics(snapshot, ["T"]).brokers
    assert first.transactions is not None and second.transactions is None
    assert [item.topic for item in first.transactions.lost_ops] == ["T", None]
    assert [item.topic for item in first.transactions.double_commits] == ["T", None]
    assert of_topics(snapshot, []) is snapshot


NOT = NotJudged(code="MQ401", subject=Subject(kind=SubjectKind.CLUSTER), why=Why(Reason.GAP))


@each(
    "severities, gaps, code, verdict",
    [
        ([], (), 0, 0),
        ([], (NOT,), 3, 3),
        ([Severity.INFO], (), 0, 0),
        ([Severity.INFO], (NOT,), 3, 3),
        ([Severity.WARNING], (NOT,), 1, 3),
        ([Severity.WARNING, Severity.ERROR], (), 2, 2),
        ([Severity.FATAL], (NOT,), 2, 2),
    ],
)
def test_what_a_diagnosis_ends_with(
    severities: list[Severity], gaps: tuple[NotJudged, ...], code: int, verdict: int
) -> None:
    """By warnings, and by nothing milder than an error."""
    findings = tuple(replace(about(), severity=item) for item in severities)
    diagnosis = Diagnosis(findings=findings, not_judged=gaps, rules_run=())
    assert (diagnosis.exit_code(), diagnosis.exit_code(Severity.ERROR)) == (code, verdict)


def held(queue_id: int, idle_ms: int, **changes: object) -> HeldQueue:
    usual = HeldQueue(
        queue=MessageQueue("T", "a", queue_id), commit_offset=0, cached_count=1, last_consume_time_ms=NOW - idle_ms
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def working(*queues: HeldQueue, tps: float = 1.0, orderly: bool = False) -> RunningInfo:
    """One thread that takes a second for a message: full caches of a thousand last for 1,000 s a queue."""
    rates = (TopicRates(topic="T", consume_rt_ms=1_000, consume_ok_tps=tps),)
    properties = {"PROP_THREADPOOL_CORE_SIZE": "1", "PROP_CONSUMEORDERLY": str(orderly).lower()}
    return RunningInfo(group="G", client_id="c", queues=queues, rates=rates, properties=properties)


def case(info: RunningInfo, scale: float = 1.0, **changes: object) -> ClusterCase:
    member = replace(MEMBER, **changes)  # type: ignore[arg-type]
    return ClusterCase(
        cluster(BrokerSnapshot(name="a", memberships=(member,)), running=(info,)), NOW, Settings(time_scale=scale)
    )


@each(
    "queue, scale, unfinished",
    [
        (held(0, 60_001), 1, True),
        (held(0, 60_000), 1, False),
        (held(0, 6_001), 10, True),
        (held(0, 60_001, cached_count=0), 1, False),
        (held(0, 60_001, dropped=True), 1, False),
        (held(0, 60_001, last_consume_time_ms=0), 1, False),
    ],
)
def test_queues_of_which_nothing_was_finished_for_a_minute(queue: HeldQueue, scale: float, unfinished: bool) -> None:
    info = working(queue)
    assert list(unfinished_queues(case(info, scale), "G", info)) == ([queue] if unfinished else [])


@each(
    "info, in_turn",
    [
        (working(held(0, 70_000), held(1, 60_000)), {0}),
        (working(held(0, 70_000), held(1, 60_001)), set()),
        (working(held(0, 70_000), held(1, 0), held(2, 80_000)), {0, 2}),
        (working(held(0, 2_000_000), held(1, 0)), {0}),
        (working(held(0, 2_000_001), held(1, 0)), set()),
        (working(held(0, 70_000), held(1, 0), tps=0.5), set()),
        (working(held(0, 70_000), held(1, 0), orderly=True), set()),
        (working(held(0, 70_000, locked=True), held(1, 0), orderly=True), {0}),
        (working(held(1, 0)), set()),
    ],
)
def test_queues_that_wait_for_threads_that_work_on_others(info: RunningInfo, in_turn: set[int]) -> None:
    assert queues_in_turn(case(info)) == {("G", MessageQueue("T", "a", number)) for number in in_turn}
    assert queues_in_turn(case(info, consume_type=PULL)) == set()
    assert [item.client_id for _, item in pushed_instances(case(info))] == ["c"]


MEMBERS_ONLY = next(code for code, rule in RULES.items() if rule.groups and GroupKind.OFFLINE not in rule.groups)
OF_GROUPS = next(code for code, rule in RULES.items() if rule.groups and GroupKind.OFFLINE in rule.groups)
OF_TOPICS = next(code for code, rule in RULES.items() if rule.topics and TopicKind.SYSTEM not in rule.topics)
OF_NEITHER = next(code for code, rule in RULES.items() if not rule.groups and not rule.topics)


def diagnosis_of(*not_judged: NotJudged, rules: tuple[str, ...] = (MEMBERS_ONLY, OF_GROUPS, OF_NEITHER)) -> Diagnosis:
    return Diagnosis(findings=(), not_judged=not_judged, rules_run=rules)


def left_open(code: str, *, group: str | None = None, of_gap: str | None = None) -> NotJudged:
    gaps = (
        ()
        if of_gap is None
        else (Gap(part=Part.MEMBERS, cause=Cause.SILENT, reason="x", subject=GapSubject(group=of_gap)),)
    )
    return NotJudged(code=code, subject=Subject(kind=SubjectKind.GROUP, group=group), why=Why(Reason.GAP), gaps=gaps)


KNOWN = cluster(
    BrokerSnapshot(
        name="a",
        memberships=(MEMBER, replace(MEMBER, group="CID_RMQ_SYS_TRANS")),
        consumer_offsets=(ConsumerOffsetState(group="old", topic="U", queue_id=0, offset=1),),
        queues=(QueueState(topic="T", queue_id=0, min_offset=0, max_offset=1),),
        topics=(TopicConfig(name="V"),),
    ),
    name_servers=(NameServerView(address="ns", endpoints=(BrokerEndpoint(cluster="C", name="a"),)),),
)


def covered(name: str, judged: str = "yes", why: Reason | None = None, rules: int = 0) -> Covered:
    return Covered(kind="group", name=name, judged=judged, why=Why(why) if why else None, rules=rules)


@each(
    "diagnosis, options, rows",
    [
        (diagnosis_of(), {}, [covered("G"), covered("old", "partly", Reason.NOBODY_ONLINE, 1)]),
        (diagnosis_of(rules=(OF_GROUPS,)), {"groups": ["old"]}, [covered("old", "partly", Reason.NOBODY_ONLINE, 0)]),
        (diagnosis_of(), {"groups": ["G"]}, [covered("G")]),
        (diagnosis_of(), {"groups": ["new"]}, [covered("new", "partly", Reason.NOBODY_ONLINE, 1)]),
        (diagnosis_of(), {"topics": ["T"]}, [covered("G")]),
        (diagnosis_of(), {"topics": ["U"]}, [covered("old", "partly", Reason.NOBODY_ONLINE, 1)]),
        (diagnosis_of(), {"brokers": ["b"]}, []),
        (diagnosis_of(), {"brokers": ["a"], "groups": ["G"]}, [covered("G")]),
        (
            diagnosis_of(
                left_open(OF_GROUPS, group="G"), left_open(OF_GROUPS, group="G"), left_open(OF_GROUPS, group="H")
            ),
            {"groups": ["G"]},
            [covered("G", "partly", Reason.GAP, 1)],
        ),
        (
            diagnosis_of(left_open(OF_GROUPS, of_gap="G"), left_open(MEMBERS_ONLY)),
            {"groups": ["G"]},
            [covered("G", "partly", Reason.GAP, len({OF_GROUPS, MEMBERS_ONLY}))],
        ),
        (diagnosis_of(left_open(OF_NEITHER)), {"groups": ["G"]}, [covered("G")]),
    ],
)
def test_how_far_groups_were_judged(diagnosis: Diagnosis, options: dict[str, list[str]], rows: list[Covered]) -> None:
    assert coverage(diagnosis, KNOWN, **options) == rows
    files = replace(KNOWN, origin=replace(KNOWN.origin, kind=OriginKind.STORE))
    assert coverage(diagnosis, files, **options) == []


@each(
    "options, added",
    [
        ({}, []),
        ({"groups": ["G"]}, []),
        ({"groups": ["old"]}, [(MEMBERS_ONLY, "old", Reason.NOBODY_ONLINE)]),
        (
            {"groups": ["z", "old"]},
            [(MEMBERS_ONLY, "old", Reason.NOBODY_ONLINE), (MEMBERS_ONLY, "z", Reason.NOBODY_ONLINE)],
        ),
        (
            {"groups": ["CID_RMQ_SYS_X"]},
            [(MEMBERS_ONLY, "CID_RMQ_SYS_X", Reason.OWN), (OF_GROUPS, "CID_RMQ_SYS_X", Reason.OWN)],
        ),
        ({"topics": ["T", "V"]}, []),
        ({"topics": ["new"]}, [(code, "new", Reason.NOTHING_TOLD) for code in (MEMBERS_ONLY, OF_GROUPS, OF_NEITHER)]),
        ({"brokers": ["a"]}, []),
        ({"brokers": ["b"]}, [(code, "b", Reason.NOT_REGISTERED) for code in (MEMBERS_ONLY, OF_GROUPS, OF_NEITHER)]),
        ({"rules": ["MQ216"]}, []),
        ({"rules": ["MQ216"], "groups": ["G"]}, [("MQ216", "cluster", Reason.ALL_GROUPS)]),
        ({"rules": ["MQ216"], "brokers": ["a"]}, [("MQ216", "cluster", Reason.ALL_GROUPS)]),
        ({"rules": ["MQ401"], "groups": ["G"]}, []),
    ],
)
def test_what_was_asked_by_name_and_could_not_be_judged(
    options: dict[str, list[str]], added: list[tuple[str, str, Reason]]
) -> None:
    judged = earned(diagnosis_of(NOT), KNOWN, **options)
    assert judged.not_judged[0] == NOT
    assert [(item.code, str(item.subject), item.why.reason) for item in judged.not_judged[1:]] == added


def test_system_topics_are_judged_by_rules_for_them_alone() -> None:
    judged = earned(diagnosis_of(rules=(OF_TOPICS, OF_NEITHER)), KNOWN, topics=["TBW102"])
    assert [(item.code, item.why.reason) for item in judged.not_judged] == [(OF_TOPICS, Reason.OWN)]


def test_a_rule_that_was_asked_for_where_nobody_is_online() -> None:
    empty = replace(KNOWN, brokers=(replace(KNOWN.brokers[0], memberships=()),))
    nobody = earned(diagnosis_of(), empty, rules=[MEMBERS_ONLY, OF_GROUPS])
    assert [(item.code, item.why.reason) for item in nobody.not_judged] == [(MEMBERS_ONLY, Reason.NOBODY_ANYWHERE)]
    bare = cluster(name_servers=(NameServerView(address="ns"),))
    without = earned(diagnosis_of(), bare, rules=[MEMBERS_ONLY])
    assert [(item.code, item.why.reason) for item in without.not_judged] == [(MEMBERS_ONLY, Reason.NO_BROKERS)]
    assert earned(diagnosis_of(), bare, groups=["x"], topics=["y"], brokers=["z"]).not_judged == ()


def test_who_did_not_tell_its_members_may_have_some() -> None:
    def untold(part: Part) -> ClusterSnapshot:
        missed = Gap(part=part, cause=Cause.SILENT, reason="x", subject=GapSubject(group="old"))
        return replace(KNOWN, brokers=(replace(KNOWN.brokers[0], unavailable=(missed,)),))

    assert coverage(diagnosis_of(), untold(Part.MEMBERS), groups=["old"]) == [covered("old")]
    assert earned(diagnosis_of(), untold(Part.MEMBERS), groups=["old"]).not_judged == ()
    offline = [covered("old", "partly", Reason.NOBODY_ONLINE, 1)]
    assert coverage(diagnosis_of(), untold(Part.QUEUES), groups=["old"]) == offline
    assert len(earned(diagnosis_of(), untold(Part.QUEUES), groups=["old"]).not_judged) == 1


def test_a_broker_of_which_a_finding_tells_is_not_told_of_again() -> None:
    for name, count in (("b", 0), ("a", 3), ("z", 3)):
        told_of = replace(about(), subject=Subject(kind=SubjectKind.BROKER, broker=name))
        judged = earned(replace(diagnosis_of(), findings=(told_of,)), KNOWN, brokers=["b"])
        assert len(judged.not_judged) == count, name
