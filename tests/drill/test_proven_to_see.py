"""A broker that breaks each promise once is accused of exactly that, by the smallest piece of the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from threading import Thread

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.commands.drill.running import DrillRequest, conduct
from mqctl.drill.checker import Checker
from mqctl.drill.client_lines import body_of
from mqctl.drill.ground import DrillGround, DrillNames
from mqctl.drill.plan import read_plan
from mqctl.local.actor import client_settings
from mqctl.model.drill_verdict import Breach, DrillState, DrillVerdict, Promise
from tests.drill.broken_broker import BODY_BYTES, HELD, KEYS, LOST, MISPLACED, REFUSED, SWAPPED, TWICE, Liar

pytestmark = pytest.mark.slow

UNSENT = 9_999
ROLLED_BACK = 3
SCALE = 40
PLAN = f"""
title: Nothing happens, and nothing is allowed
cluster: {{brokers: [broker-a]}}
time_scale: {SCALE}
queues: 2
limits: {{lost_after: 4s, settle: 0s, repeats_back: 0s}}
producers:
  - {{name: orders, sends: keyed, keys: {KEYS}, messages: 180, rate: 180, body_bytes: {BODY_BYTES}}}
  - {{name: reminders, sends: delayed, delay_level: 2, messages: 1}}
  - {{name: payments, sends: transactional, messages: 4, rolls_back: 4}}
groups:
  - {{name: ledger, mode: orderly, consumers: 1}}
  - {{name: mail, mode: concurrent, consumers: 1}}
schedule:
  - {{at: 4s, do: burst, producer: orders, messages: 20}}
"""


@pytest.fixture(scope="module")
def drilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DrillVerdict, Liar]]:
    directory = tmp_path_factory.mktemp("drill")
    plan, names = read_plan("lies", PLAN.encode(), "lies.yaml"), DrillNames("lies")
    with EmbeddedCluster(brokers=1) as cluster:
        liar = Liar(cluster, names)

        def intrude() -> None:
            """Sends what nobody of the drill sends."""
            if liar.half_way.wait(90):
                with Producer("intruder", client_settings(cluster.namesrv, SCALE, name="intruder")) as producer:
                    producer.send(OutgoingMessage(topic=names.topic, body=body_of("orders", UNSENT, -1, BODY_BYTES)))

        liar.lie()
        intruder = Thread(target=intrude)
        intruder.start()
        with DrillGround(plan, names, cluster.namesrv) as ground:
            ground.make()
            conduct(plan, ground, DrillRequest(mark="lies", history=directory / "history"), directory)
        intruder.join()
    yield Checker(directory / "history", 20).judge(), liar


# What was planted: who was given it, whose message it was, which one, and the lines that show it.
PLANTED = {
    Promise.LOST: ({"mail"}, "orders", LOST, "aos"),
    Promise.ROLLED_BACK: ({"ledger", "mail"}, "payments", ROLLED_BACK, "adrs"),
    Promise.REFUSED: ({"ledger", "mail"}, "orders", REFUSED, "dfs"),
    Promise.UNSENT: ({""}, "orders", UNSENT, "d"),
    Promise.REPEATED: ({"mail"}, "orders", TWICE, "adds"),
    Promise.KEY_ORDER: ({"ledger"}, "orders", SWAPPED + KEYS, "aaddss"),
    Promise.STORED_ORDER: ({""}, "orders", None, "aa"),
    Promise.EARLY: ({"ledger", "mail"}, "reminders", 0, "ads"),
}
_NUMBER, _OFFSET = 4, 7


def accused(verdict: DrillVerdict, promise: Promise) -> list[Breach]:
    return [each for each in verdict.breaches if each.promise is promise]


def letters(breach: Breach) -> str:
    """Returns what the excerpt consists of; clients write side by side, so that lines of two may stand either way."""
    return "".join(sorted(line.text[0] for line in breach.excerpt))


def column(breach: Breach, line: int, word: int) -> int:
    """Returns a number of the excerpt's line."""
    return int(breach.excerpt[line].text.split()[word])


@pytest.mark.parametrize("promise", PLANTED)
def test_a_broken_broker_is_accused_of_exactly_that(promise: Promise, drilled: tuple[DrillVerdict, Liar]) -> None:
    verdict, _ = drilled
    readers, producer, number, lines = PLANTED[promise]
    breaches = accused(verdict, promise)
    assert {each.reader for each in breaches} == readers
    assert len(breaches) == len(readers)
    for each in breaches:
        assert (each.allowed_by, each.producer, letters(each)) == (None, producer, lines)
        assert number in (None, each.number)


def test_what_lies_in_one_place_with_another_message_is_named_with_it(drilled: tuple[DrillVerdict, Liar]) -> None:
    (breach,) = accused(drilled[0], Promise.STORED_ORDER)
    assert MISPLACED in (column(breach, 0, _NUMBER), column(breach, 1, _NUMBER))
    assert column(breach, 0, _OFFSET) == column(breach, 1, _OFFSET)


def test_a_message_that_came_after_those_behind_it_is_the_one_of_the_queue(drilled: tuple[DrillVerdict, Liar]) -> None:
    breaches = accused(drilled[0], Promise.QUEUE_ORDER)
    assert len(breaches) == 1, breaches
    (breach,) = breaches
    assert (breach.reader, letters(breach)) == ("ledger", "dd")
    assert column(breach, 1, _NUMBER) == HELD
    assert column(breach, 0, _OFFSET) > column(breach, 1, _OFFSET)


def test_an_offset_that_went_back_is_shown_by_the_looks_before_and_after(drilled: tuple[DrillVerdict, Liar]) -> None:
    verdict, liar = drilled
    planted = [each for each in accused(verdict, Promise.OFFSET_BACK) if column(each, 1, _OFFSET) == 1]
    (breach,) = planted
    assert liar.back is not None
    assert (breach.reader, letters(breach), column(breach, 1, _OFFSET)) == ("ledger", "oo", liar.back[1])
    assert column(breach, 0, _OFFSET) > 1


def test_what_was_committed_before_it_was_consumed_lies_before_that_offset(drilled: tuple[DrillVerdict, Liar]) -> None:
    verdict, liar = drilled
    assert liar.ahead is not None
    _, real, committed = liar.ahead
    breaches = [each for each in accused(verdict, Promise.COMMITTED_AHEAD) if each.reader == "mail"]
    assert breaches
    for each in breaches:
        assert letters(each) == ("do" if each.number == UNSENT else "ado")
        offsets = {int(line.text.split()[_OFFSET]) for line in each.excerpt if line.text[0] == "d"}
        assert real <= min(offsets) < committed


def test_nothing_else_is_accused(drilled: tuple[DrillVerdict, Liar]) -> None:
    """The message that was held back is consumed behind a commit, and moves it back; a look may see that, too."""
    verdict, _ = drilled
    assert (verdict.state, verdict.complete, dict(verdict.undecided)) == (DrillState.VIOLATED, True, {})
    counts = Counter({each.promise: each.outside for each in verdict.promises if each.outside})
    same_fault = {
        Promise.OFFSET_BACK: [each for each in accused(verdict, Promise.OFFSET_BACK) if each.reader == "ledger"][1:],
        Promise.COMMITTED_AHEAD: [
            each for each in accused(verdict, Promise.COMMITTED_AHEAD) if each.reader == "mail" or each.number == HELD
        ],
    }
    for promise, breaches in same_fault.items():
        counts[promise] -= len(breaches)
    expected = {promise: len(readers) for promise, (readers, *_) in PLANTED.items()}
    assert +counts == Counter(expected) + Counter([Promise.QUEUE_ORDER, Promise.OFFSET_BACK])
