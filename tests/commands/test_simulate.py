"""`allocation simulate` from numbers alone: what changes, what rooms carry, what producers use, what makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome
from tests.each import each

Run = Callable[..., Outcome]
ROOMS = ("--queues", 4, "--clients", 4, "--rooms", "HT,CP")


def simulated(mqctl: Run, *words: object) -> Any:
    outcome = mqctl("allocation", "simulate", *words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def loads(report: Any) -> dict[str, tuple[int | None, int | None]]:
    return {row["client_id"]: (row["before"], row["after"]) for row in report["loads"]}


def test_named_clients_join_and_leave(mqctl: Run) -> None:
    words = ("--queues", 6, "--client", "b", "--client", "a", "--remove-client", "a", "--add-client", "c")
    report = simulated(mqctl, *words, "--add-client", "d")
    assert loads(report) == {"a": (3, None), "b": (3, 2), "c": (None, 2), "d": (None, 2)}
    assert [(row["queue_id"], row["before"], row["after"]) for row in report["moves"]] == [
        (0, "a", "b"),
        (1, "a", "b"),
        (2, "a", "c"),
        (3, "b", "c"),
        (4, "b", "d"),
        (5, "b", "d"),
    ]


def test_a_broker_is_added_with_as_many_queues_as_others_have(mqctl: Run) -> None:
    report = simulated(mqctl, "--queues", 4, "--brokers", 2, "--clients", 2, "--add-broker", "broker-z")
    assert [row["queue_count"] for row in report["results"]] == [8, 12]
    fewer = simulated(mqctl, "--queues", 4, "--clients", 2, "--add-broker", "broker-z=2", "--add-broker", "broker-y=1")
    assert [row["queue_count"] for row in fewer["results"]] == [4, 7]
    hashed = simulated(
        mqctl, "--queues", 40, "--clients", 3, "--strategy", "hash", "--add-broker", "broker-z", "--queues-each", 40
    )
    assert {row["broker"] for row in hashed["moves"]} == {"broker-z"}


def test_a_room_is_added(mqctl: Run) -> None:
    report = simulated(mqctl, *ROOMS, "--strategy", "nearby", "--add-room", "SH=1x6+2")
    after = {
        row["room"]: (row["client_count"], row["queue_count"]) for row in report["rooms"] if row["layout"] == "after"
    }
    assert after == {"CP": (2, 4), "HT": (2, 4), "SH": (2, 6)}
    # Nothing of the rooms that were there moves: only the new room's queues find their owners.
    assert {row["broker"] for row in report["moves"]} == {"SH-broker-a"}
    assert {(row["room"], row["own"]) for row in report["sending"] if row["layout"] == "after"} == {
        ("CP", True),
        ("HT", True),
        ("SH", True),
    }


def test_a_lost_room_needs_what_the_other_may_not_have(mqctl: Run) -> None:
    words = (*ROOMS, "--strategy", "nearby", "--lose-room", "HT", "--rate", 900)
    report = simulated(mqctl, *words, "--capacity", 300)
    rooms = {(row["layout"], row["room"]): row for row in report["rooms"]}
    assert (rooms["before", "HT"]["required_tps"], rooms["before", "HT"]["enough"]) == (450.0, True)
    assert (rooms["after", "CP"]["required_tps"], rooms["after", "CP"]["capacity_tps"]) == (900.0, 600.0)
    assert rooms["after", "CP"]["enough"] is False
    assert simulated(mqctl, *words, "--capacity", 450)["rooms"][-1]["enough"] is True
    unknown = simulated(mqctl, *words)
    assert (unknown["rooms"][-1]["capacity_tps"], unknown["rooms"][-1]["enough"]) == (None, None)


def test_a_room_may_take_its_brokers_with_it(mqctl: Run) -> None:
    alive = simulated(mqctl, *ROOMS, "--strategy", "nearby", "--lose-room", "HT")
    gone = simulated(mqctl, *ROOMS, "--strategy", "nearby", "--lose-room", "HT", "--with-brokers")
    assert (alive["results"][1]["queue_count"], alive["results"][1]["crossing_count"]) == (8, 4)
    assert (gone["results"][1]["queue_count"], gone["results"][1]["crossing_count"]) == (4, 0)
    lone = simulated(mqctl, *ROOMS, "--lose-broker", "HT-broker-a")
    senders = {row["room"]: (row["own"], row["brokers"]) for row in lone["sending"] if row["layout"] == "after"}
    assert senders == {"HT": (False, "CP-broker-a"), "CP": (True, "CP-broker-a")}


def test_config_owns_what_is_written_down_and_nothing_else(mqctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "lists.yaml"
    file.write_text("client-00: [broker-a/0, broker-a/1]\nclient-01: [broker-a/1]\n")
    report = simulated(mqctl, "--queues", 4, "--clients", 2, "--strategy", "config", "--config", file)
    (row,) = report["results"]
    assert (row["strategy"], row["orphan_count"]) == ("CONFIG", 2)
    assert loads(report) == {"client-00": (2, 2), "client-01": (1, 1)}
    file.write_text("client-00: [nothing]\n")
    assert mqctl("allocation", "simulate", "--queues", 1, "--clients", 1, "--config", file).exit_code == 64


def test_all_strategies_stand_side_by_side(mqctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "lists.yaml"
    file.write_text("client-00: [broker-a/0]\n")
    plain = simulated(mqctl, "--queues", 5, "--clients", 3, "--compare", "--config", file)
    assert [row["strategy"] for row in plain["results"] if row["layout"] == "compare"] == [
        "AVG",
        "AVG_BY_CIRCLE",
        "CONSISTENT_HASH",
        "CONFIG",
    ]
    rooms = simulated(mqctl, *ROOMS, "--compare")
    compared = {row["strategy"]: row for row in rooms["results"] if row["layout"] == "compare"}
    assert set(compared) == {
        *("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM"),
        *(f"MACHINE_ROOM_NEARBY-{name}" for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")),
    }
    # Brokers are named with a hyphen, and MACHINE_ROOM wants an @: nobody gets anything.
    assert compared["MACHINE_ROOM"]["orphan_count"] == 8
    assert compared["MACHINE_ROOM_NEARBY-AVG"]["crossing_count"] == 0
    assert compared["AVG"]["moved_count"] == 0


@each(
    "words, said",
    [
        (("--queues", 4), "--clients"),
        (("--rate", 4, "-g", "G", "-t", "T"), "--queues"),
        (("--queues", 4, "--clients", 2, "--lose-broker", "x"), "no broker x"),
        (("--queues", 4, "--clients", 2, "--lose-broker", "broker-a"), "this would leave no queue"),
        (("--queues", 4, "--clients", 2, "--add-broker", "broker-a"), "already"),
        (("--queues", 4, "--clients", 2, "--add-broker", "b=x"), "NAME=QUEUES"),
        (("--queues", 4, "--clients", 2, "--remove-client", "x"), "no client is called x"),
        (("--queues", 4, "--clients", 2, "--add-client", "client-00"), "already"),
        (("--queues", 4, "--clients", 2, "--remove-clients", 2), "this would leave no client"),
        (("--queues", 4, "--clients", 2, "--remove-clients", 3), "3 of 2"),
        (("--queues", 4, "--clients", 2, "--add-room", "SH=1x1+1"), "does not read SH"),
        ((*ROOMS, "--add-room", "SH"), "SH=2x8+3"),
        ((*ROOMS, "--add-room", "SH=0x8+3"), "SH=2x8+3"),
        ((*ROOMS, "--lose-room", "XX"), "no client is in room XX"),
        (("--queues", 4, "--clients", 2, "--strategy", "config"), "--config"),
        (("--queues", 4, "--clients", 2, "--strategy", "fair"), "use one of"),
        ((), "begins somewhere"),
    ],
)
def test_what_makes_no_sense(mqctl: Run, words: tuple[object, ...], said: str) -> None:
    outcome = mqctl("allocation", "simulate", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (64, True), outcome.stderr


SUBSCRIBED = ("--subscribes", "c1=Topic-A", "--subscribes", "c2=Topic-A,Topic-B")


def test_queues_of_a_topic_that_one_client_does_not_subscribe_to_have_no_consumer(mqctl: Run) -> None:
    report = simulated(mqctl, "--queues", 4, *SUBSCRIBED, "--as", "kafka", "range")
    assert [(row["topic"], row["queue_id"], row["slot"]) for row in report["orphans"]] == [
        ("Topic-B", 0, "c1"),
        ("Topic-B", 1, "c1"),
    ]
    assert {row["client_id"]: (row["owns"], row["kafka"]) for row in report["loads"]} == {
        "c1": ("broker-a/0-1", "broker-a/0-1"),
        "c2": ("Topic-A broker-a/2-3, Topic-B broker-a/2-3", "Topic-A broker-a/2-3, Topic-B broker-a/0-3"),
    }
    shown = mqctl("allocation", "simulate", "--queues", 4, *SUBSCRIBED).stdout
    assert "Topic-B  broker-a      0  c1" in shown


def test_who_subscribes_to_everything_leaves_nothing(mqctl: Run) -> None:
    report = simulated(mqctl, "--queues", 4, "--subscribes", "c1=Topic-B,Topic-A", "--subscribes", "c2=Topic-A,Topic-B")
    assert report["orphans"] == []
    later = simulated(mqctl, "--queues", 4, *SUBSCRIBED, "--remove-client", "c1", "--add-broker", "broker-z")
    assert later["orphans"] == [] and loads(later)["c2"] == (4, 16)


def test_kafka_sticky_moves_less_when_a_client_joins(mqctl: Run) -> None:
    report = simulated(mqctl, "--queues", 8, "--clients", 3, "--add-clients", 1, "--as", "Kafka", "Sticky")
    assert {row["layout"]: (row["strategy"], row["moved_count"]) for row in report["results"]} == {
        "before": ("AVG", None),
        "after": ("AVG", 5),
        "kafka": ("kafka sticky", 2),
    }


@pytest.mark.parametrize(
    "words",
    [
        ("--queues", 4, "--subscribes", "c1"),
        ("--queues", 4, "--subscribes", "c1="),
        ("--queues", 4, "--subscribes", "=Topic-A"),
        ("--queues", 4, "--subscribes", "c1=A", "--subscribes", "c1=B"),
        ("--subscribes", "c1=A"),
        ("--queues", 4, "--clients", 2, "--as", "kafka", "cooperative"),
        ("--queues", 4, "--clients", 2, "--as", "pulsar", "range"),
    ],
)
def test_subscriptions_and_assignors_that_cannot_be_read(mqctl: Run, words: tuple[object, ...]) -> None:
    outcome = mqctl("allocation", "simulate", *words)
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert "next: " in outcome.stderr


def carries(mqctl: Run, *words: object) -> tuple[float, bool, int]:
    numbers = ("--queues", 8, "--clients", 2, "--rate", 900, "--capacity", 1000, "--threads", 20)
    report = simulated(mqctl, *numbers, *words)
    (row,) = report["rooms"]
    return row["carried_tps"], row["enough"], row["parallelism"]


def test_order_by_key_carries_what_order_by_queue_cannot(mqctl: Run) -> None:
    # A thread passes 50 a second. By queue 8 threads work at once; by key all 40, and a key of 36 a second fits one.
    assert carries(mqctl, "--mode", "orderly", "--hot-key", "0.04") == (400, False, 8)
    assert carries(mqctl, "--orderly", "--hot-key", "0.04") == (400, False, 8)
    assert carries(mqctl, "--mode", "key-ordered", "--hot-key", "0.04") == (900, True, 40)
    # A key of 180 a second does not: 130 of it wait.
    assert carries(mqctl, "--mode", "Key-Ordered", "--hot-key", "0.2") == (770, False, 40)
    assert carries(mqctl, "--mode", "concurrent", "--hot-key", "0.2") == (900, True, 40)


@pytest.mark.parametrize(
    "words",
    [
        ("--queues", 4, "--clients", 2, "--mode", "key-ordered"),
        ("--queues", 4, "--clients", 2, "--mode", "by-key"),
        ("--queues", 4, "--clients", 2, "--hot-key", "0.5"),
        ("--queues", 4, "--clients", 2, "--rate", 10, "--hot-key", "1.5"),
    ],
)
def test_modes_and_hot_keys_that_make_no_sense(mqctl: Run, words: tuple[object, ...]) -> None:
    outcome = mqctl("allocation", "simulate", *words)
    assert (outcome.exit_code, outcome.stdout) == (64, "")


def shares(report: Any) -> dict[int, tuple[float, int]]:
    return {row["queue_id"]: (row["share"], row["key_count"]) for row in report["shares"] if row["layout"] == "before"}


def test_a_hash_gives_each_queue_its_keys_and_a_hot_key_to_one(mqctl: Run, tmp_path: Path) -> None:
    # "a" to "d" have the Java hashes 97 to 100: queues 1, 2, 3, 0 of four.
    file = tmp_path / "keys.csv"
    file.write_text("a\nb,6\nc,2\n\nd\n")
    report = simulated(mqctl, "--queues", 4, "--clients", 2, "--keys", file, "--rate", 100)
    assert shares(report) == {0: (0.1, 1), 1: (0.1, 1), 2: (0.6, 1), 3: (0.2, 1)}
    assert [(row["busiest_key"], row["tps"]) for row in report["shares"]] == [
        ("b", 60),
        ("c", 20),
        ("d", 10),
        ("a", 10),
    ]
    assert [row["required_tps"] for row in report["loads"]] == [20, 80]
    # Chance and turns know no keys: each is in every queue.
    for selector in ("turn", "random"):
        words = ("--queues", 4, "--clients", 2, "--keys", file, "--selector", selector)
        assert shares(simulated(mqctl, *words)) == dict.fromkeys(range(4), (0.25, 4))
    # With eight queues half of them have no key at all.
    wider = simulated(mqctl, "--queues", 4, "--clients", 2, "--keys", file, "--queues-each", 8)
    after = {row["queue_id"]: row["share"] for row in wider["shares"] if row["layout"] == "after"}
    assert after == {0: 0, 1: 0.1, 2: 0.6, 3: 0.2, 4: 0.1, 5: 0, 6: 0, 7: 0}


def test_what_consumers_carry_follows_from_the_selector(mqctl: Run) -> None:
    skewed = ("--keys", 1000, "--hot-key", "0.2")
    # By key a thread passes 50 of the hot key's 180 a second, in whichever queue it is; by chance both clients have
    # 90 of it, and pass 50 each, at the price of its order.
    assert carries(mqctl, "--mode", "key-ordered", "--selector", "hash", *skewed) == (770, False, 40)
    assert carries(mqctl, "--mode", "key-ordered", "--selector", "random", *skewed) == (820, False, 40)
    # Ordered queues: seven pass 50 each, and so does the hot one.
    assert carries(mqctl, "--mode", "orderly", "--selector", "hash", *skewed) == (400, False, 8)
    assert carries(mqctl, "--mode", "concurrent", "--selector", "turn") == (900, True, 40)


def test_producers_in_rooms_fill_their_own_and_go_round_all_without_one(mqctl: Run) -> None:
    words = ("--queues", 2, "--client", "HT-1", "--client", "CP-1", "--client", "SH-1", "--rooms", "HT,CP")

    def by_broker(selector: str) -> dict[str, float]:
        rows = simulated(mqctl, *words, "--selector", selector)["shares"]
        return {row["broker"]: row["share"] for row in rows}

    assert by_broker("room:HT") == {"HT-broker-a": 0.5, "CP-broker-a": 0}
    assert by_broker("room:SH") == {"HT-broker-a": 0.25, "CP-broker-a": 0.25}
    # A third of the producers has no brokers of its own.
    assert by_broker("room") == {"HT-broker-a": 0.25, "CP-broker-a": 0.25}
    lost = simulated(mqctl, *words, "--selector", "room", "--lose-room", "HT", "--rate", 120)
    after = {row["broker"]: row["tps"] for row in lost["shares"] if row["layout"] == "after"}
    assert after == {"HT-broker-a": 15, "CP-broker-a": 45}


@each(
    "words",
    [
        ("--selector", "hash"),
        ("--selector", "fair"),
        ("--selector", "room:"),
        ("--selector", "hash:key"),
        ("--selector", "room", "--keys", 4),
        ("--keys", "missing", "--hot-key", "0.5"),
        ("--keys", "missing"),
        ("--keys", 10_001),
        ("--keys", "/dev/null"),
        ("--selector", "turn", "--subscribes", "c1=A,B"),
        ("--selector", "turn", "--queues", 101, "--keys", 10_000),
    ],
)
def test_selectors_that_cannot_be_simulated(mqctl: Run, words: tuple[object, ...]) -> None:
    outcome = mqctl("allocation", "simulate", "--queues", 4, "--clients", 2, *words)
    assert (outcome.exit_code, outcome.stdout) == (64, ""), outcome.stderr
    assert "next: " in outcome.stderr
