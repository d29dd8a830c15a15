"""`allocation simulate`: what each client carries, who owns what, and strategies by every name they are printed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]
SIMULATE = ("allocation", "simulate")


def simulated(mqctl: Run, *words: object) -> Any:
    outcome = mqctl(*SIMULATE, *words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def test_n1_clients_without_a_queue_carry_nothing(mqctl: Run) -> None:
    words = ("--queues", 2, "--clients", 2, "--rate", 40, "--capacity", 10, "--add-clients", 2)
    report = simulated(mqctl, *words)
    after = report["rooms"][-1]
    assert (after["required_tps"], after["capacity_tps"], after["carried_tps"], after["enough"]) == (
        *(40.0, 20.0, 20.0),
        False,
    )
    assert [(row["after"], row["capacity_tps"]) for row in report["loads"]] == [
        (1, 10.0),
        (1, 10.0),
        (0, 0.0),
        (0, 0.0),
    ]


def test_n1_the_busiest_client_decides_whether_it_is_enough(mqctl: Run) -> None:
    report = simulated(mqctl, "--queues", 3, "--clients", 2, "--rate", 40, "--capacity", 20)
    assert [(row["required_tps"], row["carried_tps"], row["enough"]) for row in report["loads"]] == [
        (26.7, 20.0, False),
        (13.3, 13.3, True),
    ]
    (all_of_them,) = report["rooms"]
    assert (all_of_them["carried_tps"], all_of_them["enough"]) == (33.3, False)


def test_n6_the_parallelism_of_ordered_clients_is_that_of_their_queues(mqctl: Run) -> None:
    words = ("--queues", 4, "--clients", 2, "--threads", 20, "--rate", 40, "--capacity", 100)
    ordered = simulated(mqctl, *words, "--orderly", "--add-clients", 3)
    assert [row["parallelism"] for row in ordered["results"]] == [4, 4]
    # Two queues of one thread each, of 20 that pass 100 a second: 10.
    assert [row["capacity_tps"] for row in ordered["rooms"]] == [20.0, 20.0]
    assert [row["parallelism"] for row in simulated(mqctl, *words)["results"]] == [40]
    outcome = mqctl(*SIMULATE, "--queues", 4, "--clients", 2, "--orderly")
    assert (outcome.exit_code, "--threads" in outcome.stderr) == (64, True)


def test_n2_owners_are_shown_in_every_format(mqctl: Run) -> None:
    words = ("--queues", 3, "--brokers", 2, "--clients", 2)
    for output in ("table", "wide"):
        shown = mqctl(*SIMULATE, *words, "-o", output).stdout
        assert "broker-a/0-2" in shown and "broker-b/0-2" in shown
        # Nothing changes and no rate is given: no columns that repeat or ask.
        assert not {"AFTER", "CAPACITY/S", "?"} & set(shown.split()), shown
    owners = simulated(mqctl, *words, "--to-strategy", "circle")["owners"]
    assert [(row["broker"], row["queue_id"], row["before"], row["after"]) for row in owners][:3] == [
        ("broker-a", 0, "client-00", "client-00"),
        ("broker-a", 1, "client-00", "client-01"),
        ("broker-a", 2, "client-00", "client-00"),
    ]


@pytest.mark.parametrize(
    "name",
    ["AVG", "Avg", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY-AVG", "machine_room_nearby-avg_by_circle"],
)
def test_n12_strategies_are_taken_as_they_are_printed(mqctl: Run, name: str) -> None:
    words = ("--queues", 4, "--clients", 4, "--rooms", "HT,CP", "--strategy", name)
    assert simulated(mqctl, *words)["results"][0]["strategy"] == name.upper()


def test_n12_choices_are_taken_in_capitals(mqctl: Run) -> None:
    assert mqctl("rules", "list", "-o", "JSON").exit_code == 0
    assert mqctl("rules", "list", "--lang", "ZH").exit_code == 0
