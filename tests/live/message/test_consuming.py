"""`message consume` and `message tail`: what they show, what they commit, what they leave behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import create_topic, send
from tests.conftest import Outcome
from tests.embedded_broker.messages import send as plain_send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.terminal import Terminal

CHANGES = (
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.HEART_BEAT,
)


def names(live: Run, noun: str, key: str) -> set[str]:
    return {row[key] for row in live(noun, "list", "--all", "-o", "json").json[f"{noun}s"]}


def lag(live: Run) -> int:
    count = live("group", "lag", "-g", "G", "-t", "Pay", "-o", "json").json["groups"][0]["lag_count"]
    assert isinstance(count, int)
    return count


def test_a_temporary_group_takes_all_and_leaves_nothing_behind(live: Run) -> None:
    before = names(live, "group", "group"), names(live, "topic", "topic"), lag(live)
    outcome = live("message", "consume", "-t", "Pay", "--from-start", "--count", "10", "--wait", "30s", "-o", "json")
    report = outcome.json
    assert (outcome.exit_code, report["temporary"], report["committing"]) == (0, True, False)
    assert sorted(item["keys"] for item in report["messages"]) == sorted([f"k{number}" for number in range(5)] * 2)
    assert "which is removed" in outcome.stderr
    assert (names(live, "group", "group"), names(live, "topic", "topic"), lag(live)) == before


def test_without_commit_the_group_stands_where_it_stood_and_with_it_exactly_behind_what_was_shown(live: Run) -> None:
    words = ("message", "consume", "-t", "Pay", "-g", "G", "--count", "1", "--wait", "30s", "-o", "json")
    looked = live(*words)
    assert (looked.exit_code, len(looked.json["messages"]), lag(live)) == (0, 1, 4)
    assert "nothing committed" in looked.stderr
    taken = live(*words, "--commit")
    (queue,) = taken.json["queues"]
    assert (taken.exit_code, queue["next_offset"], lag(live)) == (0, 4, 3)
    assert "committed: its members will not get them" in taken.stderr


def test_a_filter_by_tag_and_a_place_in_time(live: Run) -> None:
    sent = live("message", "send", "-t", "Pay", "--tag", "B", "--body", "mine", "-o", "json").json
    (message,) = live(
        *("message", "consume", "-t", "Pay", "--tags", "B", "--from-start", "--count", "1", "--wait", "30s"),
        "-o",
        "json",
    ).json["messages"]
    assert (message["body"], message["queue_offset"]) == ("mine", sent["queue_offset"])
    since = str(message["store_time_ms"])
    words = ("message", "consume", "-t", "Pay", "--since", since, "--count", "1", "--wait", "30s", "-o", "json")
    assert live(*words).json["messages"][0]["store_time_ms"] >= int(since)


def test_the_newest_of_a_topic_one_a_line_and_nothing_is_changed(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    outcome = live("message", "tail", "-t", "Pay", "--lines", "3")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (0, 3)
    assert ("broker-" in outcome.stdout, "  A  k4  x4" in outcome.stdout) == (True, True)
    codes = {request.code for request in cluster.requests()}
    cluster.record_requests(on=False)
    assert (RequestCode.PULL_MESSAGE in codes, codes & set(CHANGES)) == (True, set())


def test_following_shows_what_comes(live: Run, cluster: EmbeddedCluster) -> None:
    outcomes: list[Outcome] = []
    words = (
        "message",
        "tail",
        "-t",
        "Pay",
        "-f",
        "--lines",
        "2",
        "--count",
        "4",
        "--every",
        "50ms",
        "--tags",
        "A || C",
    )

    def follow() -> None:
        outcomes.append(live(*words, "--timeout", "60s", "-o", "ndjson"))

    following = Thread(target=follow)
    following.start()
    while following.is_alive():  # whether it has begun cannot be seen from here, so messages come until it has enough
        with Peer(cluster.broker("broker-b").address) as peer:
            assert peer.call(plain_send("Pay", properties={"TAGS": "C"}), b"new").code == 0
            assert peer.call(plain_send("Pay", properties={"TAGS": "D"}), b"other").code == 0
        following.join(0.02)
    (outcome,) = outcomes
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert (outcome.exit_code, len(rows), {row["schema"] for row in rows}) == (0, 4, {"message.list/1"})
    assert {row["tags"] for row in rows} <= {"A", "C"}
    assert rows[-1]["body"] == "new"


def test_following_ends_with_its_time(live: Run) -> None:
    outcome = live("message", "tail", "-t", "Pay", "-f", "--lines", "1", "--timeout", "1s", "--every", "50ms")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (0, 1)


@pytest.fixture(params=["4.9.8", "5.3.3"])
def filtering(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, settings={"enablePropertyFilter": "true"}) as running:
        create_topic(running, "T", queues=2)
        send(running, [OutgoingMessage(topic="T", body=b"%d" % n, properties={"size": str(n)}) for n in range(6)])
        yield running


def test_a_condition_in_sql(mqctl: Run, filtering: EmbeddedCluster) -> None:
    to = ("-t", "T", "--sql", "size > 3", "--namesrv", filtering.namesrv, "-o", "json")
    tailed = mqctl("message", "tail", *to)
    assert sorted(item["body"] for item in tailed.json["messages"]) == ["4", "5"]
    consumed = mqctl("message", "consume", *to, "--from-start", "--count", "2", "--wait", "30s")
    assert sorted(item["body"] for item in consumed.json["messages"]) == ["4", "5"]
    broken = mqctl("message", "tail", "-t", "T", "--sql", "size >", "--namesrv", filtering.namesrv)
    assert (broken.exit_code, "'size >'" in broken.stderr) == (64, True), broken.stderr


@pytest.mark.parametrize("words", [("consume", "--wait", "30s"), ("consume", "-g", "G", "--wait", "30s"), ("tail",)])
def test_a5_a_condition_that_brokers_refuse_is_refused_with_the_setting_to_change(
    live: Run, words: tuple[str, ...]
) -> None:
    before = names(live, "group", "group")
    outcome = live("message", words[0], "-t", "Pay", "--sql", "a > 1", *words[1:], "-o", "json")
    assert (outcome.exit_code, outcome.stdout) == (76, ""), outcome.stdout
    error = json.loads(outcome.stderr.splitlines()[-1])
    assert "SQL92" in error["reason"]
    assert "enablePropertyFilter=true" in error["remedy"]
    assert names(live, "group", "group") == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("tail", "-t", "nope"), 66, "nope"),
        (("tail", "-t", "Pay", "--sql", "a > 1"), 76, "SQL92"),
        (("tail", "-t", "Pay", "--sql", " "), 64, "--sql"),
        (("tail", "-t", "Pay", "--sql", "a > 1", "--tags", "A"), 64, "cannot be combined"),
        (("tail", "-t", "Pay", "-f", "-o", "json"), 64, "ndjson"),
        (("tail", "-t", "Pay", "--count", "1"), 64, "--follow"),
        (("consume", "-t", "nope"), 66, "nope"),
        (("consume", "-t", "Pay", "-g", "nope"), 66, "nope"),
        (("consume", "-t", "Pay", "-g", "G", "--from-start"), 64, "offset reset"),
        (("consume", "-t", "Pay", "--commit"), 64, "-g"),
        (("consume", "-t", "Pay", "--from-start", "--since", "-1h"), 64, "cannot be combined"),
    ],
)
def test_what_is_not_there_or_makes_no_sense(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live("message", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_nothing_to_consume_is_an_empty_list(live: Run) -> None:
    outcome = live("message", "consume", "-t", "Pay", "--wait", "200ms", "-o", "json")
    assert (outcome.exit_code, outcome.json["messages"]) == (0, [])


def test_a_body_cannot_drive_the_terminal(live: Run, terminal: Terminal) -> None:
    live("message", "send", "-t", "Pay", "--body", "\x1b[2Jgone")
    seen = terminal("message", "tail", "-t", "Pay", "--lines", "1")
    assert ("\x1b[2J" in seen.text, "\\x1b[2Jgone" in seen.text) == (False, True)


def test_repetitions_are_measured_and_remembered_between_runs(live: Run, tmp_path: Path) -> None:
    """k0 to k4 lie on both brokers: half of the ten messages repeat a key."""
    words = ("message", "consume", "-t", "Pay", "--from-start", "--count", "10", "--wait", "30s", "-o", "json")
    first = live(*words, "--dedup-by", "key", "--dedup-states", tmp_path / "seen.db").json["deduplication"]
    assert (first["message_count"], first["new_count"], first["consumed_before_count"]) == (10, 5, 5)
    assert {row["key"]: row["repetition_count"] for row in first["repeated"]} == {
        f"Pay#k{number}": 1 for number in range(5)
    }
    again = live(*words, "--dedup-by", "key", "--dedup-states", tmp_path / "seen.db").json["deduplication"]
    assert (again["new_count"], again["consumed_before_count"]) == (0, 10)
    by_property = live(*words, "--dedup-by", "nothing").json["deduplication"]
    assert (by_property["keyless_count"], by_property["new_count"]) == (10, 0)
    assert live(*words).json["deduplication"] is None
    assert live(*words, "--dedup-states", "x").exit_code == 64
    people = live(*words[:-2], "--dedup-by", "key")
    assert "5 consumed before (50%)" in people.stdout
