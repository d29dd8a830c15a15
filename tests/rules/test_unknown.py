"""Releases, engines and kinds that nobody tried the rules on: what may differ is not judged, all else as ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqctl.model.expectation import CheckState, Expectations, GroupExpectation, Limit
from mqctl.model.finding import NotJudged, Reason
from mqctl.model.member import KNOWN_KINDS
from mqctl.model.origin import OriginKind
from mqctl.model.pop_share import PopShare
from mqctl.model.release import NEWEST, release_of
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.protocol.bodies_client import ConsumerConnection, SubscriptionData
from mqctl.protocol.declared import replaced
from mqctl.render.unjudged import unproven_lines
from mqctl.rules import RULES, diagnose
from mqctl.rules.engine.expectations import hold
from mqctl.rules.engine.unknown import changes_with_releases
from mqctl.snapshot.live.members import membership_of
from mqctl.text import values_of
from tests.each import each
from tests.rules.live_snapshots import BROKERS, LIVE
from tests.rules.test_numbers import LIVE_FAULTS

NUMBERS = st.integers(0, 9_999)
KNOWN = st.tuples(st.integers(4, NEWEST[0]), st.integers(0, 9), st.integers(0, 99)).filter(lambda it: it <= NEWEST)
NEWER = st.tuples(NUMBERS, NUMBERS, NUMBERS).filter(lambda it: it > NEWEST)
ODD = st.text(max_size=20).filter(lambda text: release_of(text) is None)


def with_release(snapshot: ClusterSnapshot, version: str | None, *names: str) -> ClusterSnapshot:
    """The snapshot as if the brokers of these names, all without any, were of a release."""
    brokers = (replace(item, version=version) if item.name in (names or BROKERS) else item for item in snapshot.brokers)
    return replace(snapshot, brokers=tuple(brokers))


def desc(release: tuple[int, int, int], suffix: str = "") -> str:
    return "V{}_{}_{}".format(*release) + suffix


@given(release=KNOWN, suffix=st.sampled_from(["", "_SNAPSHOT", "_BETA1", "_1"]))
@example(release=NEWEST, suffix="")
@example(release=(4, 9, 7), suffix="")
def test_known_releases_are_judged_wholly(release: tuple[int, int, int], suffix: str) -> None:
    diagnosis = diagnose(with_release(LIVE, desc(release, suffix)))
    assert (diagnosis.not_judged, diagnosis.verdict) == ((), "ok")


@given(release=NEWER, broker=st.sampled_from(BROKERS))
@example(release=(NEWEST[0], NEWEST[1], NEWEST[2] + 1), broker=BROKERS[0])
@example(release=(NEWEST[0], NEWEST[1] + 1, 0), broker=BROKERS[1])
@example(release=(NEWEST[0] + 1, 0, 0), broker=BROKERS[0])
def test_a_newer_release_is_named_with_every_rule_that_changes(release: tuple[int, int, int], broker: str) -> None:
    diagnosis = diagnose(with_release(LIVE, desc(release), broker))
    assert (diagnosis.findings, diagnosis.exit_code(), diagnosis.verdict) == ((), 3, "unknown")
    assert {item.subject.broker for item in diagnosis.not_judged} == {broker}
    said = {(item.why.reason, item.why.values["release"]) for item in diagnosis.not_judged}
    assert said == {(Reason.NEWER_RELEASE, ".".join(map(str, release)))}
    codes = [item.code for item in diagnosis.not_judged]
    assert sorted(codes) == sorted(code for code in diagnosis.rules_run if changes_with_releases(RULES[code]))


@given(version=ODD)
@example("")
@example("V5_5")
@example("V5_5_0 ")
@example("5.5.0")
@example("V5_5_99999")
@example("V٥_٥_٠")
def test_what_is_no_release_is_quoted_and_not_taken_for_a_known_one(version: str) -> None:
    diagnosis = diagnose(with_release(LIVE, version))
    assert diagnosis.exit_code() == 3
    assert {(item.why.reason, item.why.values["release"]) for item in diagnosis.not_judged} == {
        (Reason.ODD_RELEASE, version)
    }


@each("code, variant, snapshot, numbers", LIVE_FAULTS)
def test_faults_of_newer_brokers_are_told_by_rules_that_hold_there(
    code: str, variant: str | None, snapshot: ClusterSnapshot, numbers: object
) -> None:
    if snapshot.origin.kind is not OriginKind.LIVE or not snapshot.brokers:
        return
    before = {item.code for item in diagnose(snapshot).findings}
    names = [broker.name or "" for broker in snapshot.brokers]
    diagnosis = diagnose(with_release(snapshot, desc((5, 9, 0)), *names))
    assert {item.code for item in diagnosis.findings} == {
        each for each in before if not changes_with_releases(RULES[each])
    }
    unproven = {item.code for item in diagnosis.not_judged if item.why.reason is Reason.NEWER_RELEASE}
    assert {each for each in before if changes_with_releases(RULES[each])} <= unproven


def test_files_do_not_name_their_release_and_are_judged() -> None:
    assert diagnose(with_release(LIVE, None)).verdict == "ok"


ROLES = {"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH", "storeType": "defaultRocksDB"}


@given(name=st.sampled_from(sorted(ROLES)), value=st.text(max_size=12))
@example(name="storeType", value="")
@example(name="storeType", value="tiered")
@example(name="brokerRole", value="ASYNC_MASTER ")
def test_an_engine_or_role_that_nobody_knows_is_named(name: str, value: str) -> None:
    def running_with(settings: dict[str, str]) -> ClusterSnapshot:
        brokers = (replace(item, config={**item.config, **settings}) for item in LIVE.brokers)
        return replace(LIVE, brokers=tuple(brokers))

    known = diagnose(running_with(ROLES))
    assert {item.why.reason for item in known.not_judged} == set()
    seen = diagnose(running_with({**ROLES, name: value}))
    if value.lower() in ("async_master", "sync_master", "slave", "sync_flush", "async_flush", "default"):
        return
    assert seen.exit_code() == 3
    assert {(item.why.reason, item.why.values["setting"], item.why.values["value"]) for item in seen.not_judged} == {
        (Reason.ODD_SETTING, name, value)
    }


NAMES, VALUES = st.text(min_size=1, max_size=12), st.text(max_size=12)
KNOWN_TYPES = ("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")


def with_topic(attributes: dict[str, str]) -> ClusterSnapshot:
    """The healthy cluster, whose topic has attributes."""
    brokers = []
    for broker in LIVE.brokers:
        topics = (replace(item, attributes=attributes if item.name == "Pay" else {}) for item in broker.topics)
        brokers.append(replace(broker, topics=tuple(topics)))
    return replace(LIVE, brokers=tuple(brokers))


@each("kind", KNOWN_TYPES)
def test_topics_of_known_kinds_are_judged(kind: str) -> None:
    reasons = {item.why.reason for item in diagnose(with_topic({"message.type": kind})).not_judged}
    assert Reason.ODD_ATTRIBUTE not in reasons


@given(
    attribute=st.one_of(
        st.tuples(st.just("message.type"), VALUES.filter(lambda value: value not in KNOWN_TYPES)),
        st.tuples(NAMES.filter(lambda name: "." not in name), VALUES),
    ),
    plus=st.booleans(),
)
@example(attribute=("message.type", "LITE"), plus=False)
@example(attribute=("message.type", "PRIORITY"), plus=True)
@example(attribute=("message.type", "fifo"), plus=False)
@example(attribute=("cleanup.policy", "SHRED"), plus=False)
@example(attribute=("queue.type", "RocksCQ"), plus=False)
def test_nothing_is_judged_of_a_topic_whose_kind_nobody_knows(attribute: tuple[str, str], plus: bool) -> None:
    name, value = attribute[0].removeprefix("+"), attribute[1]
    seen = diagnose(with_topic({f"+{name}" if plus else name: value}))
    assert (seen.findings, seen.exit_code()) == ((), 3)
    said = {(item.subject.topic, item.why.reason, *item.why.values.values()) for item in seen.not_judged}
    assert said == {("Pay", Reason.ODD_ATTRIBUTE, name, value)}
    assert {item.code for item in seen.not_judged} == {code for code in seen.rules_run if RULES[code].topics}


@given(attribute=st.tuples(NAMES, VALUES))
@example(attribute=("lite.bind.topic", "Pay"))
def test_nothing_is_judged_of_a_group_whose_kind_nobody_knows(attribute: tuple[str, str]) -> None:
    name, value = attribute[0].removeprefix("+"), attribute[1]
    brokers = []
    for broker in LIVE.brokers:
        groups = (replace(item, attributes={name: value}) if item.name == "G" else item for item in broker.groups)
        brokers.append(replace(broker, groups=tuple(groups)))
    seen = diagnose(replace(LIVE, brokers=tuple(brokers)))
    said = {(item.subject.group, item.why.reason, *item.why.values.values()) for item in seen.not_judged}
    assert (seen.findings, seen.exit_code()) == ((), 3)
    assert said == {("G", Reason.ODD_ATTRIBUTE, name, value)}
    assert {item.code for item in seen.not_judged} == {code for code in seen.rules_run if RULES[code].groups}


@given(release=NEWER, broker=st.sampled_from(BROKERS))
@settings(max_examples=20)
def test_how_many_rules_hold_on_an_unknown_release_is_counted(release: tuple[int, int, int], broker: str) -> None:
    diagnosis = diagnose(with_release(LIVE, desc(release), broker))
    (line,) = unproven_lines(diagnosis.not_judged, len(diagnosis.rules_run))
    unproven = sum(changes_with_releases(RULES[code]) for code in diagnosis.rules_run)
    rules = len(diagnosis.rules_run)
    assert values_of(line) == {
        "broker": broker,
        "release": ".".join(map(str, release)),
        "newest": ".".join(map(str, NEWEST)),
        "unchanged": rules - unproven,
        "rules": rules,
        "unproven": unproven,
    }


def test_nothing_is_counted_where_every_release_is_known() -> None:
    diagnosis = diagnose(LIVE)
    assert unproven_lines(diagnosis.not_judged, len(diagnosis.rules_run)) == []


@given(release=NEWER | KNOWN, broker=st.sampled_from(BROKERS))
@example(release=NEWEST, broker=BROKERS[0])
@settings(max_examples=20)
def test_a_check_of_a_broker_of_an_unknown_release_is_unknown(release: tuple[int, int, int], broker: str) -> None:
    results = hold(with_release(LIVE, desc(release), broker), Expectations())
    states = {(item.name, item.state) for item in results}
    assert states == ({(broker, CheckState.UNKNOWN)} if release > NEWEST else set())


@given(numbers=st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
@example(numbers=[0, 1])
def test_a_check_names_each_process_of_a_broker_of_an_unknown_release(numbers: list[int]) -> None:
    first = LIVE.brokers[0]
    brokers = tuple(replace(first, broker_id=number, version=desc((5, 9, 0))) for number in numbers)
    results = hold(replace(LIVE, brokers=brokers), Expectations())
    subjects = [item.subject for item in results if item.check == "known"]
    assert subjects == [f"broker {first.name}" + (f" ({number})" if number else "") for number in numbers]


DESCRIBED: dict[str, Callable[[str], dict[str, Any]]] = {
    "messageModel": lambda value: {"message_model": value},
    "consumeType": lambda value: {"consume_type": value},
    "expressionType": lambda value: {
        "subscription_table": {"Pay": SubscriptionData(topic="Pay", sub_string="a", expression_type=value)}
    },
    "mode": lambda value: {},
}
KINDS = st.text(min_size=1, max_size=12)
ANY_KNOWN = sorted(value for values in KNOWN_KINDS.values() for value in values)


@given(name=st.sampled_from(sorted(DESCRIBED)), value=KINDS | st.sampled_from(ANY_KNOWN))
@example(name="messageModel", value="LITE_SELECTIVE")
@example(name="mode", value="LITE")
@example(name="expressionType", value="SQL99")
def test_nothing_is_judged_of_a_group_whose_members_are_of_an_unknown_kind(name: str, value: str) -> None:
    connection = replaced(ConsumerConnection(), **DESCRIBED[name](value))
    membership = membership_of("G", ("c1",), connection, {"Pay": value} if name == "mode" else {})
    brokers = (replace(item, memberships=(membership,)) for item in LIVE.brokers)
    seen = diagnose(replace(LIVE, brokers=tuple(brokers)))
    odd = {(item.subject.group, *item.why.values.values()) for item in seen.not_judged if _is_odd(item)}
    assert odd == (set() if value in KNOWN_KINDS[name] else {("G", name, value)})
    if odd:
        assert not {item.subject.group for item in seen.findings} & {"G"}
        assert seen.exit_code() != 0


def _is_odd(item: NotJudged) -> bool:
    return item.why.reason is Reason.ODD_ATTRIBUTE


@given(perm=st.integers(0, 255), kind=KINDS | st.sampled_from(["CUSTOMIZED", "EXPONENTIAL"]))
@example(perm=6, kind="CUSTOMIZED")
@example(perm=22, kind="NEXT")
def test_permissions_and_retries_of_a_kind_to_come_are_named(perm: int, kind: str) -> None:
    brokers = []
    for broker in LIVE.brokers:
        topics = (replace(item, perm=perm) if item.name == "Pay" else item for item in broker.topics)
        groups = (replace(item, retry_policy_type=kind) if item.name == "G" else item for item in broker.groups)
        brokers.append(replace(broker, topics=tuple(topics), groups=tuple(groups)))
    seen = diagnose(replace(LIVE, brokers=tuple(brokers)))
    odd = {
        (item.subject.topic or item.subject.group, item.why.values["value"])
        for item in seen.not_judged
        if _is_odd(item)
    }
    expected = {("Pay", str(perm))} if perm >= 16 else set()
    expected |= set() if kind in ("CUSTOMIZED", "EXPONENTIAL") else {("G", kind)}
    assert odd == expected


@given(value=KINDS | st.sampled_from(ANY_KNOWN), declared=st.sampled_from(["G", "Other"]))
@example(value="LITE_SELECTIVE", declared="G")
def test_a_check_of_a_group_of_an_unknown_kind_is_unknown(value: str, declared: str) -> None:
    membership = membership_of("G", ("c1",), ConsumerConnection(message_model=value))
    brokers = tuple(replace(item, memberships=(membership,)) for item in LIVE.brokers)
    expected = Expectations(groups=(GroupExpectation(group=declared, members_min=1),))
    results = hold(replace(LIVE, brokers=brokers), expected)
    odd = [(item.subject, item.state) for item in results if item.check == "known"]
    is_odd = value not in KNOWN_KINDS["messageModel"] and declared == "G"
    assert odd == ([("group G", CheckState.UNKNOWN)] if is_odd else [])


@given(value=VALUES | st.sampled_from(KNOWN_TYPES), declared=st.sampled_from(["G", "Other"]))
@example(value="LITE", declared="G")
@example(value="LITE", declared="Other")
def test_a_check_of_a_group_that_consumes_a_topic_of_an_unknown_kind_is_unknown(value: str, declared: str) -> None:
    expected = Expectations(groups=(GroupExpectation(group=declared, lag_count=Limit(error=10)),))
    results = hold(with_topic({"message.type": value}), expected)
    odd = [(item.subject, item.state) for item in results if item.check == "known"]
    is_odd = value not in KNOWN_TYPES and declared == "G"
    assert odd == ([("topic Pay", CheckState.UNKNOWN)] if is_odd else [])


@given(mode=KINDS | st.sampled_from(["POP", "PULL"]))
@example(mode="LITE")
def test_nothing_is_judged_of_a_group_that_is_set_to_an_unknown_mode(mode: str) -> None:
    share = PopShare(
        group="G",
        topic="Pay",
        mode=mode,
        ready_count=0,
        invisible_count=0,
        due_count=0,
        retry_count=0,
        given_up_count=0,
        blocked_queue_count=0,
    )
    brokers = (replace(item, pop=(share,)) for item in LIVE.brokers)
    seen = diagnose(replace(LIVE, brokers=tuple(brokers)))
    odd = {(item.subject.group, *item.why.values.values()) for item in seen.not_judged if _is_odd(item)}
    assert odd == (set() if mode in ("POP", "PULL") else {("G", "mode", mode)})
