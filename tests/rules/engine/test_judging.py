"""Which rules are asked, what of their verdicts is told, and what they could not judge; what a case puts together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqctl.errors import UsageError
from mqctl.model.finding import Confidence, NotJudged, Reason, Severity, SubjectKind
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import GroupMembership, HeldQueue, MessageModel, RunningInfo
from mqctl.model.origin import ObservedFrom, OriginKind
from mqctl.model.past import RecordedPast
from mqctl.model.queue import MessageQueue
from mqctl.model.route import TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.rules import RULES, diagnose
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.rule import Case, ClusterCase, Verdict, any_window, rule
from tests.each import each
from tests.rules.live_faults import after, standing_at
from tests.rules.live_snapshots import BROKERS, LIVE, NOW, ONE, TWO, membership

STORE = replace(LIVE, origin=replace(LIVE.origin, kind=OriginKind.STORE))


def left(diagnosis: Diagnosis) -> list[tuple[str, Reason]]:
    return [(item.code, item.why.reason) for item in diagnosis.not_judged]


@each(
    "only, skip, run",
    [
        (("MQ401",), (), ["MQ401"]),
        (("mq401", "MQ40?"), ("MQ40[2-9]",), ["MQ401"]),
        (("MQ601", "MQ401"), (), ["MQ401", "MQ601"]),
        (("MQ4*",), ("mq4*1", "MQ4*[02-9]"), None),
        (("MQ999",), (), None),
        (("MQ401",), ("MQ999",), None),
        (("MQ401",), ("MQ4*",), None),
    ],
)
def test_rules_by_code_and_pattern(only: tuple[str, ...], skip: tuple[str, ...], run: list[str] | None) -> None:
    if run is not None:
        assert list(diagnose(LIVE, only=only, skip=skip).rules_run) == run
        return
    with pytest.raises(UsageError, match=r"no rule matches MQ999|no rule is left"):
        diagnose(LIVE, only=only, skip=skip)


def test_all_rules_that_a_source_can_show_are_asked() -> None:
    run = set(diagnose(LIVE).rules_run)
    for code, entry in RULES.items():
        apart = {Part.STACKS, Part.PROBE, Part.PAST} & set(entry.needs)
        assert (code in run) == (entry.applies_to(OriginKind.LIVE) and not apart and entry.least_window is None), code
    assert "MQ410" in diagnose(after(LIVE, LIVE)).rules_run


@each(
    "snapshot, only, reasons",
    [
        (LIVE, ("MQ101",), [("MQ101", Reason.FILES_ONLY)]),
        (STORE, ("MQ202",), [("MQ202", Reason.LIVE_ONLY)]),
        (STORE, ("MQ410",), [("MQ410", Reason.LIVE_ONLY)]),
        (STORE, ("MQ411",), [("MQ411", Reason.LIVE_ONLY)]),
        (LIVE, ("MQ410",), [("MQ410", Reason.TWO_LOOKS)]),
        (LIVE, ("MQ320",), [("MQ320", Reason.NO_STACKS)]),
        (LIVE, ("MQ120",), [("MQ120", Reason.NO_PROBE)]),
        (LIVE, ("MQ430",), [("MQ430", Reason.NO_RECORDING)]),
        (LIVE, ("MQ401", "MQ410"), [("MQ410", Reason.TWO_LOOKS)]),
        (LIVE, ("MQ401", "MQ41*"), []),
        (LIVE, ("MQ12[01]",), [("MQ120", Reason.NO_PROBE), ("MQ121", Reason.FILES_ONLY)]),
    ],
)
def test_what_was_asked_in_vain(
    snapshot: ClusterSnapshot, only: tuple[str, ...], reasons: list[tuple[str, Reason]]
) -> None:
    assert left(diagnose(snapshot, only=only)) == reasons


@each("window_ms, scale, judged", [(7_999, 1, False), (8_000, 1, True), (799, 10, False), (800, 10, True)])
def test_two_looks_lie_far_enough_apart(window_ms: int, scale: float, judged: bool) -> None:
    least = RULES["MQ410"].least_window
    assert least is not None
    settings = Settings(time_scale=scale)
    window_ms = window_ms * least(settings) // 8_000
    diagnosis = diagnose(after(LIVE, LIVE, window_ms), only=("MQ410",), settings=settings)
    assert (diagnosis.rules_run == ("MQ410",)) is judged
    assert any_window(settings) == 0


def test_a_recording_of_one_look_tells_that_nothing_was_compared() -> None:
    past = RecordedPast(recording="r", begin_ms=0, until_ms=NOW)
    diagnosis = diagnose(replace(LIVE, past=past), only=("MQ410",))
    (only,) = diagnosis.not_judged
    assert (only.why.reason, only.subject.kind) == (Reason.NO_EARLIER, SubjectKind.CLUSTER)
    least = RULES["MQ410"].least_window
    assert least is not None and only.why.values == {"window_ms": least(Settings())}
    near = diagnose(replace(after(LIVE, LIVE, 5), past=past), only=("MQ410",))
    assert near.not_judged[0].why.values == {"window_ms": max(5, least(Settings()))}


def with_gap(gap: Gap) -> ClusterSnapshot:
    first, second = LIVE.brokers
    return replace(LIVE, brokers=(replace(first, unavailable=(gap,)), second))


def gap(part: Part, **subject: str) -> Gap:
    return Gap(
        part=part,
        cause=Cause.SILENT,
        reason="no answer",
        subject=GapSubject(**subject) if subject else None,  # type: ignore[arg-type]
    )


@each(
    "given_gap, code, reason",
    [
        (gap(Part.QUEUES), "MQ401", Reason.GAP),
        (gap(Part.QUEUES, topic="Pay"), "MQ401", Reason.GAP_IN),
        (gap(Part.CONFIG), "MQ401", None),
        (gap(Part.MEMBERS), "MQ205", Reason.GAP),
        (gap(Part.MEMBERS, group="G"), "MQ205", Reason.GAP_IN),
        (gap(Part.QUEUES), "MQ205", None),
    ],
)
def test_gaps_that_a_rule_feels(given_gap: Gap, code: str, reason: Reason | None) -> None:
    diagnosis = diagnose(with_gap(given_gap), only=(code,))
    assert left(diagnosis) == ([(code, reason)] if reason else [])
    for item in diagnosis.not_judged:
        assert (item.gaps, item.subject.broker, item.more_count) == ((given_gap,), BROKERS[0], 0)
        assert item.why.values["reason"] == "no answer"
    whole = diagnose(replace(LIVE, unavailable=(given_gap,)), only=(code,))
    assert left(whole) == ([(code, reason)] if reason else [])


def test_many_gaps_of_one_broker_are_one() -> None:
    gaps = tuple(gap(Part.MEMBERS, group=name) for name in "GHI")
    first, second = LIVE.brokers
    (only,) = diagnose(replace(LIVE, brokers=(replace(first, unavailable=gaps), second)), only=("MQ205",)).not_judged
    assert (only.gaps, only.more_count) == (gaps, 2)


@each(
    "code, version, judged",
    [
        ("MQ401", "V9_0_0", True),
        ("MQ110", "V5_5_0", True),
        ("MQ110", "V5_5_1", False),
        ("MQ131", "V5_5_1", False),
        ("MQ131", "V4_9_8", True),
    ],
)
def test_releases_that_a_rule_was_not_tried_on(code: str, version: str, judged: bool) -> None:
    first, second = LIVE.brokers
    diagnosis = diagnose(replace(LIVE, brokers=(replace(first, version=version), second)), only=(code,))
    assert left(diagnosis) == ([] if judged else [(code, Reason.NEWER_RELEASE)])
    assert [item.subject.broker for item in diagnosis.not_judged] == ([] if judged else [BROKERS[0]])


def test_topics_and_groups_of_kinds_that_nobody_knows_are_not_judged() -> None:
    def odd(broker_number: int) -> ClusterSnapshot:
        topics = tuple(replace(item, attributes={"+message.type": "LITE"}) for item in LIVE.brokers[0].topics)
        brokers = [standing_at(0, 9_999).brokers[0], LIVE.brokers[1]]
        brokers[broker_number] = replace(brokers[broker_number], topics=topics[:1])
        return replace(LIVE, brokers=tuple(brokers))

    usual = diagnose(standing_at(0, 9_999), only=("MQ404",))
    for number in (0, 1):
        diagnosis = diagnose(odd(number), only=("MQ404",))
        assert diagnosis.findings == ()
        assert left(diagnosis) == [("MQ404", Reason.ODD_ATTRIBUTE)]
        assert diagnosis.not_judged[0].subject.topic == "Pay"
        assert diagnosis.not_judged[0].why.values == {"attribute": "message.type", "value": "LITE"}
    assert left(usual) == []


def test_the_gravest_comes_first_and_causes_before_symptoms() -> None:
    late = NOW - 2 * 3_600_000
    first, second = standing_at(0, 9_999).brokers
    offset = replace(first.consumer_offsets[0], next_store_time_ms=late)
    behind = replace(LIVE, brokers=(replace(first, consumer_offsets=(offset,)), replace(second, runtime={})))
    findings = diagnose(behind).findings
    assert [item.severity.rank for item in findings] == sorted((item.severity.rank for item in findings), reverse=True)
    assert "MQ401" in {item.code for item in findings}


def case(snapshot: ClusterSnapshot = LIVE, **settings: float) -> ClusterCase:
    return ClusterCase(snapshot, NOW, Settings(**settings))  # type: ignore[arg-type]


def test_looks_and_the_time_between_them() -> None:
    before = replace(LIVE, origin=replace(LIVE.origin, observed_at_ms=NOW - 5_000))
    assert (case().window_ms, case().looks) == (0, (LIVE,))
    pair = replace(LIVE, earlier=before, between=(LIVE,))
    assert (case(pair).window_ms, case(pair).looks) == (5_000, (before, LIVE, pair))


def test_what_waits_in_queues() -> None:
    queues = [MessageQueue("Pay", name, number) for name in BROKERS for number in (0, 1)]
    snapshot = standing_at(940, 1_000)
    assert case(snapshot).waiting_in("G", queues) == 60
    assert case(snapshot).waiting_in("nobody", queues[:2]) == 2_000
    assert case(snapshot).waiting_in("G", [MessageQueue("Pay", "elsewhere", 0)]) is None
    assert case(snapshot).waiting_in("G", [queues[0], MessageQueue("Pay", "elsewhere", 0)]) == 60
    assert case(standing_at(1_001, 1_000)).waiting_in("G", queues) == 0


def test_topics_that_members_share_out() -> None:
    (view,) = case().views
    queues = [MessageQueue("Pay", name, number) for name in BROKERS for number in (0, 1)]
    assert list(case().shared_topics(view)) == [("Pay", queues)]
    assert [route.topic for route in case().user_routes] == ["Pay"]
    assert list(case().readable_queues) == ["Pay", "%RETRY%G"]
    for changes in ({"consume_type": "CONSUME_ACTIVELY"}, {"popped_topics": ("Pay",)}):
        other = replace(view, memberships={"broker-a": membership(**changes)})
        assert list(case().shared_topics(other)) == []
    servers = tuple(
        replace(item, routes=(TopicRoute(topic="TBW102"), TopicRoute(topic="Z"), *item.routes))
        for item in LIVE.name_servers
    )
    assert [route.topic for route in case(replace(LIVE, name_servers=servers)).user_routes] == ["Pay", "Z"]


def test_a_group_settles_after_who_came_or_went() -> None:
    (view,) = case().views
    assert not case().settling(view)
    fewer = replace(
        LIVE,
        brokers=tuple(
            replace(item, memberships=(replace(item.memberships[0], client_ids=(ONE,)),)) for item in LIVE.brokers
        ),
    )
    assert case(after(LIVE, fewer)).settling(view)
    assert not case(after(LIVE, LIVE)).settling(view)
    nobody = replace(LIVE, brokers=tuple(replace(item, memberships=()) for item in LIVE.brokers))
    assert not case(after(LIVE, nobody)).settling(view)
    assert view.client_ids == (ONE, TWO)


@each(
    "ages_ms, scale, confidence",
    [
        ((60_000,), 1, Confidence.HIGH),
        ((60_001,), 1, Confidence.MEDIUM),
        ((900_000, 60_000), 1, Confidence.HIGH),
        ((6_001,), 10, Confidence.MEDIUM),
        ((), 1, Confidence.MEDIUM),
    ],
)
def test_how_sure_the_times_of_a_member_are(ages_ms: tuple[int, ...], scale: float, confidence: Confidence) -> None:
    for name in ("last_pull_time_ms", "last_consume_time_ms", "last_lock_time_ms"):
        bare = HeldQueue(queue=MessageQueue("T", "a", 0), commit_offset=0)
        queues = tuple(replace(bare, **{name: NOW - age_ms}) for age_ms in ages_ms)  # type: ignore[arg-type]
        info = RunningInfo(group="G", client_id="c", queues=queues)
        assert case(time_scale=scale).age_confidence(info) is confidence


def test_a_case_of_one_broker() -> None:
    one = Case(broker=standing_at(940, 1_000).brokers[0], now_ms=NOW, settings=Settings())
    assert [(row.queue_id, row.lag_count) for row in one.lags] == [(0, 60), (1, 0)]
    assert [(lag.topic, lag.lag_count) for lag in one.lag_totals] == [("Pay", 60)]
    assert [(name, len(queues)) for name, queues in one.queues_by_topic().items()] == [("Pay", 2)]


def test_the_sentences_of_a_rule_by_key_and_variant() -> None:
    texts = RULES["MQ401"].texts
    keyed = texts.keyed("MQ401")
    assert keyed["mq401-title"] == texts.title
    assert {key for key in keyed if "-what" in key} == {
        "mq401-what" + (f"-{variant.replace('_', '-')}" if variant else "") for variant in texts.what
    }
    assert texts.said("MQ401", "title", {}) == texts.title
    several = next(entry for entry in RULES.values() if entry.other_playbooks)
    for variant, playbook in several.other_playbooks.items():
        assert several.playbook_of(variant) == playbook
    assert several.playbook_of(None) == several.playbook


def test_a_code_stands_for_one_rule_and_a_playbook_is_one_of_ours() -> None:
    texts = RULES["MQ401"].texts
    with pytest.raises(ValueError, match="MQ401 is registered twice"):
        rule("MQ401", Severity.INFO, source="x", playbook="backlog", texts=texts)
    with pytest.raises(ValueError, match="unknown playbook nothing"):
        rule("MQ999", Severity.INFO, source="x", playbook="nothing", texts=texts)
    with pytest.raises(ValueError, match="unknown playbook other"):
        rule("MQ999", Severity.INFO, source="x", playbook="backlog", texts=texts, other_playbooks={"v": "other"})


def test_a_rule_looks_at_a_broker_or_at_the_cluster_by_what_its_function_takes() -> None:
    for code, entry in RULES.items():
        assert (entry.judge is None) != (entry.cluster_judge is None), code
    texts = RULES["MQ401"].texts

    def of_something_else(broker: BrokerSnapshot) -> list[Verdict]:
        return []

    register: Any = rule("MQ999", Severity.INFO, source="x", playbook="backlog", texts=texts)
    with pytest.raises(TypeError, match="MQ999 looks at BrokerSnapshot"):
        register(of_something_else)
    assert "MQ999" not in RULES


@each(
    "needs, live, files",
    [((), True, True), ((Part.STORAGE,), False, True), ((Part.MEMBERS,), True, False), ((Part.QUEUES,), True, True)],
)
def test_sources_that_can_show_what_a_rule_looks_at(needs: tuple[Part, ...], live: bool, files: bool) -> None:
    entry = replace(RULES["MQ401"], needs=needs)
    assert (entry.applies_to(OriginKind.LIVE), entry.applies_to(OriginKind.STORE)) == (live, files)


def test_members_that_broadcast_are_nothing_to_rules_about_sharing() -> None:
    """Brokers tell that a group broadcasts: what is not known of its members is no gap of a rule that is not for it."""
    gaps = (gap(Part.MEMBERS, group="B"),)
    broadcasting = GroupMembership(group="B", client_ids=("x",), message_model=MessageModel.CLUSTERING)
    first, second = LIVE.brokers

    def seen(item: GroupMembership) -> list[NotJudged]:
        changed = replace(first, unavailable=gaps, memberships=(*first.memberships, item))
        return list(diagnose(replace(LIVE, brokers=(changed, second)), only=("MQ211",)).not_judged)

    assert len(seen(broadcasting)) == 1
    assert seen(replace(broadcasting, message_model=MessageModel.BROADCASTING)) == []


@each(
    "source, newest_ago_ms, confidence",
    [
        (ObservedFrom.CONFIG_MTIME, 3_600_000, Confidence.HIGH),
        (ObservedFrom.CONFIG_MTIME, 3_600_001, Confidence.MEDIUM),
        (ObservedFrom.CONFIG_MTIME, None, Confidence.MEDIUM),
        (ObservedFrom.CONFIG_MTIME, -5, Confidence.HIGH),
        (ObservedFrom.STORE_TIME, 3_600_001, Confidence.HIGH),
    ],
)
def test_ages_by_a_file_that_may_have_been_copied_are_less_sure(
    source: ObservedFrom, newest_ago_ms: int | None, confidence: Confidence
) -> None:
    first, second = standing_at(10, 1_000).brokers
    newest_ms = None if newest_ago_ms is None else NOW - newest_ago_ms
    queues = tuple(replace(item, last_store_time_ms=newest_ms) for item in first.queues)
    offset = replace(first.consumer_offsets[0], next_store_time_ms=NOW - 9 * 3_600_000)
    behind = replace(first, queues=queues, consumer_offsets=(offset,))
    snapshot = replace(
        STORE, brokers=(behind, replace(second, queues=())), origin=replace(STORE.origin, observed_from=source)
    )
    (late,) = diagnose(snapshot, only=("MQ401",)).findings
    assert late.confidence is confidence
