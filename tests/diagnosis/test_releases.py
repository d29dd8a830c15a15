"""Releases that nobody tried the rules on: what may have changed is not judged, and what cannot is judged as ever."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.diagnosis import RULES, diagnose
from mqctl.diagnosis.releases import NEWEST, changes_with_releases, release_of
from mqctl.model.finding import Reason
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from tests.diagnosis.live_snapshots import BROKERS, LIVE
from tests.diagnosis.test_numbers import LIVE_FAULTS
from tests.each import each

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
