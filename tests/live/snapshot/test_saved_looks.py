"""Questions to a live cluster, put to a snapshot of it: the same answers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from tests.client.consuming import Heard, quick, quick_client, wait_for_queues
from tests.conftest import Outcome
from tests.live.conftest import Run

SAME = (
    ("broker", "config"),
    ("broker", "config", "broker-a", "--key", "broker*"),
    ("cluster", "describe"),
    ("group", "describe", "-g", "G"),
    ("group", "list"),
    ("producer", "list"),
    ("topic", "describe", "-t", "Pay"),
    ("topic", "list"),
    ("topic", "list", "--all"),
    ("topic", "route", "-t", "Pay"),
)
MOVING = {"observed_at_ms", "put_tps", "get_tps"}


def still(value: object) -> object:
    """What does not move between two looks."""
    if isinstance(value, dict):
        return {name: still(item) for name, item in value.items() if name not in MOVING}
    return [still(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def saved(live: Run, tmp_path: Path) -> Path:
    file = tmp_path / "now.snap"
    assert live("snapshot", "save", file).exit_code == 0
    return file


@pytest.mark.parametrize("words", SAME)
def test_a_snapshot_answers_as_the_cluster_did(live: Run, saved: Path, words: tuple[str, ...]) -> None:
    now, then = live(*words, "-o", "json"), live(*words, "--snapshot", saved, "-o", "json", env={"MQCTL_NAMESRV": ""})
    assert (then.exit_code, then.stderr) == (now.exit_code, now.stderr)
    assert still(then.json) == still(now.json)


def test_what_brokers_are_doing_is_that_of_the_snapshot(live: Run, saved: Path) -> None:
    listed = live("broker", "list", "--snapshot", saved, "-o", "json").json["brokers"]
    assert [(row["name"], row["put_today_count"], row["problem"]) for row in listed] == [
        ("broker-a", 5, None),
        ("broker-b", 5, None),
    ]
    described = live("broker", "describe", "broker-a", "--snapshot", saved, "-o", "json").json
    counters = live("broker", "describe", "--counters", "broker-a", "--snapshot", saved, "-o", "json").json["settings"]
    assert {row["key"]: row["value"] for row in counters} == described["raw"]
    clusters = live("cluster", "list", "--snapshot", saved, "-o", "json").json
    assert ([row["process_count"] for row in clusters["clusters"]], clusters["differing"]) == ([2], [])


def test_members_of_a_snapshot(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    consumer = PushConsumer("G", quick_client(cluster), Heard(), quick(threads=3))
    consumer.subscribe("Pay", "A || B")
    file = tmp_path / "now.snap"
    with consumer:
        wait_for_queues(consumer, 6)
        client = consumer.client_id
        assert live("snapshot", "save", file).exit_code == 0
    for verb in ("members", "describe"):
        (row,) = live("group", verb, "-g", "G", "--snapshot", file, "-o", "json").json["members"]
        assert (row["client_id"], row["queue_count"], row["subscriptions"]) == (client, 6, "Pay: A || B")
    instance = live("group", "members", "--client", client, "-g", "G", "--snapshot", file, "-o", "json").json
    held = [item for item in instance["queues"] if item["topic"] == "Pay"]
    assert (instance["thread_count"], len(held)) == (3, 4)
    assert live("group", "members", "--client", "nobody@1", "-g", "G", "--snapshot", file).exit_code == 66


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("broker", "describe", "broker-z"), "there is no broker broker-z"),
        (("group", "describe", "-g", "nope"), "there is no consumer group nope"),
        (("topic", "describe", "-t", "nope"), "there is no topic nope"),
        (("topic", "route", "-t", "nope"), "nope"),
    ],
)
def test_what_the_snapshot_does_not_hold(live: Run, saved: Path, words: tuple[str, ...], said: str) -> None:
    outcome = live(*words, "--snapshot", saved)
    assert (outcome.exit_code, said in outcome.stderr) == (66, True), outcome.stderr


def test_a_broker_that_was_silent_then_is_unknown_now(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cluster.fault(None, Drop(), server="broker-b")
    file = tmp_path / "now.snap"
    live("snapshot", "save", file, "--timeout", "3s")
    cluster.clear_faults()
    outcome = live("topic", "list", "--snapshot", file)
    assert (outcome.exit_code, "broker-b" in outcome.stderr) == (75, True)
    listed: Outcome = live("broker", "list", "--snapshot", file, "-o", "json")
    assert {row["name"]: row["problem"] is None for row in listed.json["brokers"]} == {
        "broker-a": True,
        "broker-b": False,
    }


def test_a_release_that_nobody_knows_is_no_all_clear(live: Run, saved: Path, tmp_path: Path) -> None:
    """Relabelled: rules that hold on any release are judged, the others are named with the broker and its release."""
    healthy = live("doctor", "--snapshot", saved, "--skip", "MQ6*", "-o", "json")
    assert (healthy.exit_code, healthy.json["not_judged"]) == (0, []), healthy.stdout
    text = gzip.decompress(saved.read_bytes()).decode()
    version = next(row["version"] for row in live("broker", "list", "-o", "json").json["brokers"])
    newer = tmp_path / "newer.snap"
    assert f'"{version}"' in text
    newer.write_bytes(gzip.compress(text.replace(f'"{version}"', '"V6_1_0"').encode()))
    seen = live("doctor", "--snapshot", newer, "--skip", "MQ6*", "-o", "json")
    assert (seen.exit_code, seen.json["findings"]) == (3, [])
    (cause,) = seen.json["not_judged_causes"]
    assert cause["subjects"] == ["broker-a", "broker-b"]
    assert "MQ110" in cause["codes"] and not {"MQ202", "MQ401"} & {*cause["codes"]}
    said = live("doctor", "--snapshot", newer).stdout
    assert "its release 6.1.0 is newer than those that mqctl knows (to 5.5.0)" in said
