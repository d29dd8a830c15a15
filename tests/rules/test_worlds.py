"""Every rule has two worlds: one in which it speaks, and the likeliest false alarm, of which it says nothing."""

from __future__ import annotations

from dataclasses import replace

from mqctl.rules import RULES, diagnose
from tests.each import each
from tests.rules.group_faults import popped_by_one_broker, popped_undeclared
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, cluster
from tests.rules.twins import TWINS

# Owners and members that came or went a moment ago are looked at again: said, and no finding.
LOOKED_AT_AGAIN = {"MQ206", "MQ309", "MQ501"}


def test_every_rule_has_its_pair_of_worlds() -> None:
    speaking = {fault.code for fault in FAULTS} | {fault.code for fault, _ in DOUBLE_FAULTS}
    assert speaking == RULES.keys()
    assert TWINS.keys() == RULES.keys()


def test_both_worlds_of_every_rule_are_told() -> None:
    worlds = {code: (rule.texts.speaks, rule.texts.silent) for code, rule in RULES.items()}
    assert not {code for code, (speaks, silent) in worlds.items() if not speaks or not silent or speaks == silent}


@each("code", TWINS)
def test_a_rule_is_silent_in_its_likeliest_false_alarm(code: str) -> None:
    twin = TWINS[code]
    diagnosis = diagnose(cluster(twin.state), settings=twin.settings)
    assert code not in {item.code for item in diagnosis.findings}
    # Silence counts only where the rule has looked.
    assert code in diagnosis.rules_run
    assert (code in {gap.code for gap in diagnosis.not_judged}) == (code in LOOKED_AT_AGAIN)


def test_members_that_all_pop_need_no_broker_that_is_set_to_it() -> None:
    """Clients may pop by themselves: nothing is mixed, and no queue lacks an owner."""
    diagnosis = diagnose(popped_undeclared())
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())
    assert "MQ422" in diagnosis.rules_run


def test_a_broker_without_the_topic_need_not_be_set_to_have_it_popped() -> None:
    """The same two brokers, one of them set to POP: a fault where both have the topic."""
    mixed = popped_by_one_broker()
    assert "MQ422" in {item.code for item in diagnose(mixed).findings}
    first, second = mixed.brokers
    without = replace(second, topics=tuple(config for config in second.topics if config.name != "Pay"))
    popping = [replace(info, pops=True, queues=(), held_counts={"Pay": 0}) for info in mixed.running]
    diagnosis = diagnose(replace(mixed, brokers=(first, without), running=tuple(popping)))
    assert "MQ422" not in {item.code for item in diagnosis.findings}
    assert "MQ422" in diagnosis.rules_run
