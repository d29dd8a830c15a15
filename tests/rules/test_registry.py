"""Choosing rules, missing evidence, exit codes, order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.errors import UsageError
from mqctl.model.finding import Severity
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lang import Lang
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.translation import spoken
from mqctl.rules import RULES, Settings, diagnose
from mqctl.rules.engine.judging import OUTAGES
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule
from mqctl.rules.engine.why_words import reason
from tests.rules.live_faults import SEEN
from tests.rules.snapshots import FAULTS, HEALTHY, HOUR, STORAGE, cluster, offset


def test_a_missing_part_makes_exactly_the_rules_that_need_it_not_judged() -> None:
    for part in Part:
        broker = replace(HEALTHY, unavailable=(Gap(part=part, cause=Cause.SILENT, reason="asleep"),))
        diagnosis = diagnose(cluster(broker))
        assert {gap.code for gap in diagnosis.not_judged} == {
            code
            for code, entry in RULES.items()
            if part in entry.needs and entry.applies_to(OriginKind.STORE) and entry.least_window is None
        }
        assert all(gap.why.values["reason"] == "asleep" for gap in diagnosis.not_judged)
        assert diagnosis.exit_code() == (3 if diagnosis.not_judged else 0)


def test_a_part_that_the_whole_cluster_lacks_is_named_too() -> None:
    snapshot = replace(cluster(HEALTHY), unavailable=(Gap(part=Part.DELAY, cause=Cause.REFUSED, reason="refused"),))
    gaps = diagnose(snapshot).not_judged
    assert {gap.code for gap in gaps} == {code for code, entry in RULES.items() if Part.DELAY in entry.needs}


def test_unreadable_corners_are_named_while_the_rest_is_judged() -> None:
    corners = tuple(
        Gap(part=Part.QUEUES, cause=Cause.DAMAGED, reason="torn", subject=GapSubject(topic="Pay", queue_id=number))
        for number in (3, 4, 5)
    )
    broker = replace(HEALTHY, unavailable=corners, consumer_offsets=(offset("G", "Pay", 0, 500, HOUR),))
    diagnosis = diagnose(cluster(broker), only=("MQ401",))
    assert [item.code for item in diagnosis.findings] == ["MQ401"]
    (gap,) = diagnosis.not_judged
    assert reason(gap.why, gap.more_count) == "queues (Pay/3): torn, and 2 more"
    assert spoken(reason(gap.why, gap.more_count), Lang.ZH) == "队列（Pay/3）：内容损坏，无法解析（torn），另有 2 处"


def test_exit_codes_follow_the_worst_finding() -> None:
    abort = replace(STORAGE, has_abort=True)
    warned = diagnose(cluster(replace(HEALTHY, storage=abort)))
    assert (warned.verdict, warned.exit_code(), warned.exit_code(Severity.ERROR)) == ("warning", 1, 0)
    worse = replace(HEALTHY, storage=abort, consumer_offsets=(offset("G", "Pay", 0, 40),))
    diagnosis = diagnose(cluster(worse))
    assert (diagnosis.verdict, diagnosis.exit_code(Severity.FATAL)) == ("fatal", 2)
    assert diagnosis.findings[0].code == "MQ402"


def test_a_broker_that_is_gone_is_told_before_all_that_is_as_grave_or_graver() -> None:
    """What it keeps is missing to whoever looks on; a tag mismatch of an hour ago can wait until it is back."""
    compared = set()
    for fault in FAULTS:
        if isinstance(fault.broker, ClusterSnapshot) and fault.broker.origin.kind is OriginKind.LIVE:
            findings = diagnose(replace(fault.broker, seen_brokers=(SEEN,)), settings=fault.settings).findings
            gone = next((item for item in findings if item.subject.broker == SEEN.name), None)
            if gone is not None and gone.severity is Severity.ERROR:
                before = findings[: findings.index(gone)]
                assert {item.code for item in before} <= OUTAGES, fault.label
                compared.add(fault.code)
    assert len(compared) > 50


def test_findings_come_worst_first_and_always_alike() -> None:
    broker = replace(HEALTHY, topics=(), groups=(), consumer_offsets=(offset("G", "Pay", 0, 40, HOUR),))
    broker = replace(broker, storage=replace(STORAGE, has_abort=True))
    first = diagnose(cluster(broker)).findings
    assert [item.severity.rank for item in first] == sorted((item.severity.rank for item in first), reverse=True)
    assert diagnose(cluster(broker)).findings == first


def test_only_and_skip_take_patterns_in_any_case() -> None:
    assert diagnose(cluster(HEALTHY), only=("mq70*",), skip=("MQ705",)).rules_run == tuple(
        f"MQ70{digit}" for digit in (1, 2, 3, 4, 6, 7, 8, 9)
    )


@pytest.mark.parametrize("pattern", ["MQ999", "nonsense", "MQ9*"])
def test_a_pattern_that_matches_nothing_is_a_usage_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="no rule matches"):
        diagnose(cluster(HEALTHY), only=(pattern,))
    with pytest.raises(UsageError, match="no rule matches"):
        diagnose(cluster(HEALTHY), skip=(pattern,))


def test_settings_move_the_thresholds() -> None:
    broker = replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500, 1_000),))
    strict = Settings(lag_warning_ms=500, lag_error_ms=900)
    assert [item.severity for item in diagnose(cluster(broker), settings=strict).findings] == [Severity.ERROR]
    assert diagnose(cluster(broker)).findings == ()


def test_a_code_is_taken_once_and_playbooks_are_known() -> None:
    texts = RuleTexts(title="", what={}, effect="", advice="", explain="")
    with pytest.raises(ValueError, match="twice"):
        rule("MQ401", Severity.INFO, source="x", playbook="backlog", texts=texts)
    with pytest.raises(ValueError, match="unknown playbook"):
        rule("MQ999", Severity.INFO, source="x", playbook="panic", texts=texts)


def test_codes_tell_their_family_and_severities_are_the_worst() -> None:
    assert all(code.startswith("MQ") and code[2:].isdigit() and 100 <= int(code[2:]) < 800 for code in RULES)
    for fault in FAULTS:
        worst = RULES[fault.code].severity.rank
        misfits = [
            item
            for item in diagnose(cluster(fault.broker), settings=fault.settings).findings
            if item.code == fault.code
        ]
        allowed = worst if fault.code not in {"MQ705", "MQ409"} else Severity.FATAL.rank
        assert all(item.severity.rank <= allowed for item in misfits), fault.label


def test_a_rule_looks_at_one_broker_and_its_moment() -> None:
    case = Case(HEALTHY, 7, Settings())
    outcomes = [outcome for entry in RULES.values() if entry.judge for outcome in entry.judge(case)]
    assert not [outcome for outcome in outcomes if isinstance(outcome, Verdict) and outcome.subject.broker is None]
