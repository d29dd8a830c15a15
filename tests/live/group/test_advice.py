"""`group lag --advise` against a live cluster and a saved pair of looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.consumer.consumer_settings import ConsumeMode
from tests.live.conftest import Run
from tests.live.members import member

_SHORT = ("--advise", "--window", "200ms")
_FASTER = {"MQCTL_TIME_SCALE": "100"}
"""A window of 200 ms is long enough for a judgement then."""


def test_nobody_online_never_ends_and_needs_consumers(live: Run) -> None:
    outcome = live("group", "lag", "-g", "G", *_SHORT, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    (advice,) = outcome.json["groups"]
    assert (advice["lag_count"], advice["drain"], advice["drain_ms"], advice["bound"]) == (4, "never", None, "nobody")
    assert advice["expires_in_ms"] > 60_000
    assert advice["loses"] is True
    by_what = {item["what"]: item["effect"] for item in advice["remedies"]}
    assert by_what == {"instances": "yes", "threads": "no", "queues": "no", "brokers": "no", "downstream": "no"}
    movements = {(row["broker"], row["queue_id"]): row["movement"] for row in advice["queues"]}
    assert movements["broker-a", 1] == "ok"
    text = live("group", "lag", "-g", "G", *_SHORT).stdout
    assert "never" in text
    assert "start the group's consumers" in text
    assert "Uncertain: the two samples are only" in text


def test_a_saved_pair_of_looks_gives_the_same_advice_and_a_single_one_no_rate(live: Run, tmp_path: Path) -> None:
    pair, single = tmp_path / "pair.snap", tmp_path / "single.snap"
    assert live("snapshot", "save", pair, "--window", "200ms").exit_code == 0
    assert live("snapshot", "save", single).exit_code == 0
    (advice,) = live("group", "lag", "--advise", "--snapshot", pair, "-o", "json").json["groups"]
    assert (advice["drain"], advice["bound"]) == ("never", "nobody")
    (unknown,) = live("group", "lag", "--advise", "--snapshot", single, "-o", "json").json["groups"]
    assert (unknown["drain"], unknown["in_tps"]) == ("unknown", None)


def test_a_broker_that_does_not_answer_leaves_the_others_advice(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(None, Drop(), server="broker-b")
    outcome = live("group", "lag", "-g", "G", *_SHORT, "-o", "json", "--timeout", "3s")
    cluster.clear_faults()
    assert (outcome.exit_code, outcome.json["groups"][0]["queue_count"]) == (75, 2)


def test_doctor_tells_how_groups_moved_when_it_looks_twice(live: Run) -> None:
    once = live("doctor", "-g", "G", "-o", "json").json
    assert once["movements"] == []
    twice = live("doctor", "-g", "G", "--window", "200ms", "-o", "json").json
    (line,) = twice["movements"]
    assert (line["group"], line["movement"], line["drain"], line["bound"]) == ("G", "stopped", "never", "nobody")
    assert "stopped" in live("doctor", "-g", "G", "--window", "200ms").stdout


def test_a_group_that_never_committed_is_judged_by_what_its_members_hold(live: Run, cluster: EmbeddedCluster) -> None:
    """Its listener never finishes its first message: that was "keeps up", with high confidence."""
    with member(cluster, group="fresh", mode=ConsumeMode.ORDERLY, busy=True):
        outcome = live("group", "lag", "-g", "fresh", "-t", "Pay", *_SHORT, "-o", "json", env=_FASTER)
        said = live("group", "lag", "-g", "fresh", "-t", "Pay", *_SHORT, env=_FASTER).stdout
        chinese = live("group", "lag", "-g", "fresh", "-t", "Pay", *_SHORT, env={**_FASTER, "MQCTL_LANG": "zh"}).stdout
    assert outcome.exit_code == 0, outcome.stderr
    (advice,) = outcome.json["groups"]
    assert (advice["lag_count"] or 0, advice["waiting_count"]) == (0, 10)  # as 4.9.8 its empty queues are committed
    assert (advice["drain"], advice["bound"], advice["loses"]) == ("never", "listener", None)
    waiting = {(row["broker"], row["queue_id"]): (row["waiting_count"], row["drain"]) for row in advice["queues"]}
    assert waiting["broker-a", 0] == waiting["broker-b", 0] == (5, "never")
    assert waiting["broker-a", 1] == waiting["broker-b", 1] == (0, "keeps-up")
    (keys,) = [item for item in advice["remedies"] if item["what"] == "keys"]
    assert (keys["reason"], keys["forecast"]["waiting_count"], keys["forecast"]["read_count"]) == ("stuck", 10, 10)
    assert "fresh has no committed offset on Pay in queues: 2. Counted from the first message that their" in said
    assert "fresh 在 Pay 的 2 个队列上没有提交过位点" in chinese


def test_what_nobody_committed_and_nobody_holds_is_not_known(live: Run, cluster: EmbeddedCluster) -> None:
    assert live("group", "create", "-g", "idle", "--execute").exit_code == 0
    nowhere = live("group", "lag", "-g", "idle", *_SHORT)
    assert (nowhere.exit_code, "depends on where its first member begins" in nowhere.stderr) == (66, True)
    assert "next: mqctl offset reset -g idle -t TOPIC --to-latest" in nowhere.stderr
    plain = live("group", "lag", "-g", "idle")
    assert (plain.exit_code, "it exists, and has never committed one there" in plain.stderr) == (66, True)
    assert "next: mqctl group lag -g idle --advise" in plain.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-g", "misspelt", *_SHORT), 66),
        (("--window", "10s"), 64),
        (("--advise", "--window", "0s"), 64),
        (("--advise", "--store", "/x"), 64),
    ],
)
def test_what_makes_no_sense(live: Run, words: tuple[str, ...], code: int) -> None:
    assert live("group", "lag", *words).exit_code == code
