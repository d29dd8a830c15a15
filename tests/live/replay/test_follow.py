"""`mqctl replay follow`: a topic moved to more queues while producers write; kills leave no gap, each key its order."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.changes.plan.follow import follower_group
from mqctl.changes.plan.replay import ORIGIN_BROKER, ORIGIN_OFFSET, ORIGIN_QUEUE
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.client.consuming import quick_client, wait_until
from tests.conftest import REPOSITORY
from tests.live.changing import changes
from tests.live.conftest import Run, change

_SECONDS = 90
_KEYS = 24
FOLLOW = ("replay", "follow", "-t", "Few", "--to", "Many")
DO = ("--execute", "--confirm", "Many", "-o", "json")
_SEND = 310
_QUERY = 12


@dataclass(frozen=True)
class Copy:
    """One message of the new topic."""

    queue: tuple[str, int]
    offset: int
    key: str
    number: int
    origin: tuple[str, str, str]


@pytest.fixture
def topics(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Few with two queues and Many with eight, on two brokers."""
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_topic(TopicConfig(name="Few", read_queue_count=1, write_queue_count=1)))
        change(cluster, name, put_topic(TopicConfig(name="Many", read_queue_count=4, write_queue_count=4)))
    return cluster


def produce(producer: Producer, numbers: range) -> None:
    """Sends messages of some keys, each key's numbered in their order."""
    for number in numbers:
        key = f"order-{number % _KEYS}"
        producer.send(OutgoingMessage(topic="Few", body=str(number).encode(), keys=key), select=by_key(key))


@pytest.fixture
def producer(topics: EmbeddedCluster) -> Iterator[Producer]:
    with Producer("PG", quick_client(topics)) as sending:
        yield sending


@contextmanager
def started(cluster: EmbeddedCluster, state: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a follower as people do; it is killed when nobody needs it any more."""
    command = [sys.executable, "-m", "mqctl", *FOLLOW, *words, *DO, "--namesrv", cluster.namesrv]
    environment = {"MQCTL_STATE_DIR": str(state), "PATH": "/usr/bin:/bin", "HOME": str(state)}
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def copies(live: Run) -> list[Copy]:
    outcome = live("message", "peek", "-t", "Many", "--from-start", "--count", "9999", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    listed = []
    for message in outcome.json["messages"]:
        properties = dict(message["properties"])
        listed.append(
            Copy(
                queue=(message["store_host"], message["queue_id"]),
                offset=message["queue_offset"],
                key=properties["KEYS"].split(" ")[0],
                number=int(message["body"]),
                origin=(properties[ORIGIN_BROKER], properties[ORIGIN_QUEUE], properties[ORIGIN_OFFSET]),
            )
        )
    return sorted(listed, key=lambda copy: (copy.queue, copy.offset))


def whole_and_in_order(found: list[Copy], count: int) -> set[tuple[str, str, str]]:
    """Holds that nothing is missing and each key is in one queue, in its order; returns the originals copied twice."""
    assert {copy.number for copy in found} == set(range(count))
    homes: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    order: defaultdict[str, list[int]] = defaultdict(list)
    for copy in found:
        homes[copy.key].add(copy.queue)
        if copy.number not in order[copy.key]:
            order[copy.key].append(copy.number)
    assert {len(queues) for queues in homes.values()} == {1}
    assert len({queue for queues in homes.values() for queue in queues}) > 2
    assert all(numbers == sorted(numbers) for numbers in order.values())
    return {origin for origin, times in Counter(copy.origin for copy in found).items() if times > 1}


def on_record(live: Run, state: Path) -> dict[str, str | None]:
    """Returns the one change that `history` knows."""
    outcome = live("history", "-o", "json", env={"MQCTL_STATE_DIR": str(state)})
    assert outcome.exit_code == 0, outcome.stderr
    (change,) = outcome.json["changes"]
    return dict(change)


@pytest.mark.slow
@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_a_killed_follower_leaves_no_gap_keeps_each_keys_order_and_tells_what_is_there_twice(
    live: Run, topics: EmbeddedCluster, producer: Producer, tmp_path: Path
) -> None:
    produce(producer, range(160))
    ended = Event()

    def keep_writing() -> None:
        for begin in range(160, 256, 8):
            produce(producer, range(begin, begin + 8))
            ended.wait(0.02)

    writing = Thread(target=keep_writing)
    writing.start()
    with started(topics, tmp_path, "--rate", "8"):
        wait_until(lambda: len(copies(live)) >= 30, "some copies")
    writing.join()
    assert len(copies(live)) < 256
    killed = on_record(live, tmp_path)
    assert (killed["kind"], killed["subject"], killed["state"]) == ("replay-follow", "Many", "interrupted")
    assert killed["back"] == "mqctl replay follow -t Few --to Many --key-selector hash --execute --confirm Many"
    with started(topics, tmp_path, "--drain") as second:
        out, errors = second.communicate(timeout=_SECONDS)
    assert second.returncode == 0, errors
    report = json.loads(out)
    after = copies(live)
    twice = whole_and_in_order(after, 256)
    assert len(report["repeated"]) == len(twice)
    assert (report["state"], report["left_count"], report["unknown_count"]) == ("drained", 0, 0)
    # What the first had sent after its last commit was not sent again, but looked up.
    assert report["sent_count"] + report["found_count"] <= 256
    assert len(after) == 256 + len(twice)
    done = on_record(live, tmp_path)
    assert (done["id"], done["back"]) == (killed["id"], None) == (report["id"], None)
    assert done["state"] == ("in-doubt" if twice else "complete")
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    status = live("replay", "status", report["id"], "-o", "json", env=env).json
    assert (status["kind"], status["left_count"], len(status["resumed_at_ms"])) == ("follow", 0, 1)
    stretches = [(queue["begin"], queue["end"], queue["reached"]) for queue in status["queues"]]
    assert all((begin, end) == (0, reached) for begin, end, reached in stretches)
    assert sum(reached for _, _, reached in stretches) == status["published_count"] == 256
    shown = live("replay", "status", report["id"], env=env).stdout
    assert "256 copied; copies cannot be undone" in shown
    assert "taken up again 20" in shown
    undo = live("undo", report["id"], "--execute", "--confirm", "Many", env=env)
    assert (undo.exit_code, "copied 256 messages to Many, and what was sent stays sent" in undo.stderr) == (76, True)
    resume = live("replay", "resume", report["id"], env=env)
    assert (resume.exit_code, "mqctl replay follow -t Few --to Many" in resume.stderr) == (76, True)


@pytest.mark.long
def test_a_follower_that_is_killed_again_and_again_leaves_no_gap(
    live: Run, topics: EmbeddedCluster, producer: Producer, tmp_path: Path
) -> None:
    """Both releases; one is killed before it copied anything, one while brokers do not tell what is there already."""
    produce(producer, range(64))
    sent = 64
    for more in (7, 0, 1, 24, 3):
        before = len(copies(live))
        if more == 3:
            topics.fault(_QUERY, Drop())
        with started(topics, tmp_path, "--rate", "40") as follower:
            produce(producer, range(sent, sent + 24))
            sent += 24
            assert follower.stderr is not None
            assert any("following Few into Many" in line for line in iter(follower.stderr.readline, ""))
            wait_until(lambda: len(copies(live)) >= before + more, "some copies")  # noqa: B023 - called at once
        topics.clear_faults()
    told_late = {origin for origin, times in Counter(copy.origin for copy in copies(live)).items() if times > 1}
    assert told_late, "the one that brokers did not tell copied nothing again"
    with started(topics, tmp_path, "--drain") as last:
        out, errors = last.communicate(timeout=_SECONDS)
    assert last.returncode == 0, errors
    report = json.loads(out)
    after = copies(live)
    twice = whole_and_in_order(after, sent)
    assert told_late <= twice
    assert len(report["repeated"]) == len(twice)
    assert (report["state"], report["left_count"], report["unknown_count"]) == ("drained", 0, 0)
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    status = live("replay", "status", report["id"], "-o", "json", env=env).json
    assert (status["left_count"], status["published_count"], len(status["resumed_at_ms"])) == (0, sent, 5)
    assert on_record(live, tmp_path)["state"] == "in-doubt"


@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_the_plan_sends_nothing_and_names_the_steps_of_the_cut_over(
    live: Run, topics: EmbeddedCluster, producer: Producer
) -> None:
    produce(producer, range(48))
    for name in ("broker-a", "broker-b"):
        change(topics, name, commit_offset("G", "Few", 0, 1))
    topics.record_requests()
    outcome = live(*FOLLOW, "--from-group", "G", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    assert changes(topics) == []
    plan = outcome.json
    assert (plan["old_queue_count"], plan["new_queue_count"], plan["message_count"]) == (2, 8, 46)
    assert plan["readers"] == {"G": 46}
    assert (plan["keys"]["key_count"], plan["keys"]["scattered_count"], plan["warnings"]) == (_KEYS, 0, [])
    shown = live(*FOLLOW, "--from-group", "G").stdout
    assert "1. stop the consumers of G on Few" in shown
    assert "mqctl topic update -t Few --perm R-- --execute" in shown
    assert f"mqctl group lag -g {follower_group('Few', 'Many')} -t Few --until 'lag<1'" in shown
    assert "nothing was copied; add --execute --confirm Many to begin" in shown


@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_a_follower_waits_for_a_broker_that_refuses_and_goes_on(
    live: Run, topics: EmbeddedCluster, producer: Producer, tmp_path: Path
) -> None:
    produce(producer, range(40))
    topics.fault(_SEND, Answer(14, "busy"), server="broker-b")
    topics.record_requests()
    with started(topics, tmp_path, "--drain") as follower:
        wait_until(lambda: bool(topics.requests(_SEND, server="broker-b")), "a refused copy")
        topics.clear_faults()
        out, errors = follower.communicate(timeout=_SECONDS)
    assert follower.returncode == 0, errors
    report = json.loads(out)
    assert (report["sent_count"], report["repeated"], report["state"]) == (40, {}, "drained")
    assert report["failed_count"] >= 1
    assert sorted(copy.number for copy in copies(live)) == list(range(40))


@pytest.mark.slow
@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_a_follower_holds_while_the_new_topics_group_lags(
    live: Run, topics: EmbeddedCluster, producer: Producer, tmp_path: Path
) -> None:
    for name in ("broker-a", "broker-b"):
        change(topics, name, put_group(SubscriptionGroupConfig(name="H")))
        for number in range(4):
            change(topics, name, commit_offset("H", "Many", number, 0))
    produce(producer, range(60))
    with started(topics, tmp_path, "--hold-for", "H", "--hold-above", "5", "--rate", "20") as follower:
        assert follower.stderr is not None
        lines = iter(follower.stderr.readline, "")
        assert any("holding: H has" in line for line in lines)
        for name in ("broker-a", "broker-b"):
            for number in range(4):
                change(topics, name, commit_offset("H", "Many", number, 10_000))
        assert any("going on: H has" in line for line in lines)
        follower.send_signal(signal.SIGTERM)
        out, errors = follower.communicate(timeout=_SECONDS)
    assert follower.returncode == 0, errors
    assert json.loads(out)["state"] in {"stopped", "drained"}


@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_what_cannot_be_followed_is_refused_with_a_way_out(live: Run, topics: EmbeddedCluster) -> None:
    nowhere = live("replay", "follow", "-t", "Few", "--to", "Nowhere")
    assert (nowhere.exit_code, "there is no topic Nowhere" in nowhere.stderr) == (66, True)
    same = live("replay", "follow", "-t", "Few", "--to", "Few")
    assert (same.exit_code, "topic update" in same.stderr) == (64, True)
    nobody = live(*FOLLOW, "--from-group", "nobody")
    assert (nobody.exit_code, "no offsets on Few" in nobody.stderr) == (64, True)
    fewer = live("replay", "follow", "-t", "Many", "--to", "Few", "-o", "json")
    assert "no more queues" in fewer.json["warnings"][0]
