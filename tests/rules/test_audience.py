"""Whom each rule is for: it speaks of the kinds of groups and topics that it declares, and of no other."""

from __future__ import annotations

from mqctl.model.finding import SubjectKind
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import RULES, diagnose
from mqctl.rules.engine.audience import GroupKind, TopicKind
from tests.each import each
from tests.rules.kinds import alive, with_group, with_topic
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, Fault

SPEAKING: dict[str, list[Fault]] = {}
for _fault in [*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS)]:
    SPEAKING.setdefault(_fault.code, []).append(_fault)
LIVE_CODES = [code for code, entry in RULES.items() if entry.applies_to(OriginKind.LIVE) and code in SPEAKING]

# What makes the group of the other kind mends the fault: where all members are orderly, none consumes concurrently.
HEALED = {("MQ505", GroupKind.ORDERLY)}


def _topics(fault: Fault, world: ClusterSnapshot) -> list[str | None]:
    """Returns the topics of which the fault's rule speaks in this world."""
    diagnosis = diagnose(world, only=(fault.code,), settings=fault.settings)
    return [item.subject.topic for item in diagnosis.findings]


@each("code", [code for code in LIVE_CODES if RULES[code].groups])
def test_a_rule_judges_the_kinds_of_groups_that_it_declares(code: str) -> None:
    worlds = [(fault, alive(fault.broker)) for fault in SPEAKING[code]]
    judged = {kind for kind in GroupKind if any(_topics(fault, with_group(world, kind)) for fault, world in worlds)}
    assert judged == {kind for kind in RULES[code].groups if (code, kind) not in HEALED}


@each("code", [code for code in LIVE_CODES if RULES[code].topics])
def test_a_rule_judges_the_kinds_of_topics_that_it_declares(code: str) -> None:
    fault = SPEAKING[code][0]
    world = alive(fault.broker)
    topic, *_ = _topics(fault, world)
    assert topic is not None
    judged = {kind for kind in TopicKind if _topics(fault, with_topic(world, topic, kind))}
    assert judged == {*RULES[code].topics}


def test_what_rules_say_of_groups_and_topics_they_declare() -> None:
    for faults in SPEAKING.values():
        for fault in faults:
            for item in diagnose(alive(fault.broker), only=(fault.code,), settings=fault.settings).findings:
                assert bool(item.subject.topic) <= bool(RULES[fault.code].topics), fault.label
                consumers = item.subject.group is not None and item.subject.kind is not SubjectKind.PRODUCER_GROUP
                assert consumers <= bool(RULES[fault.code].groups), fault.label
