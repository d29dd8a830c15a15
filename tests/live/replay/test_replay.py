"""`offset skip` and `mqctl replay`: skip now, replay later; nothing is lost, and what may be there twice is named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Event

import pytest

from embedded_broker import Answer, CutFrame, Drop, EmbeddedCluster
from mqctl.changes.engine.run import Consent, journal
from mqctl.changes.plan.replay import ORIGIN_OFFSET
from mqctl.cli.connection.target import cluster_target
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.message.received import ReceivedMessage
from mqctl.commands.replay.publishing import PublishPlan, resume_plan, run_publishing
from mqctl.errors import BadInputError
from mqctl.model.config import TopicConfig
from mqctl.model.own_messages import REPLAY_ID
from mqctl.snapshot.live.asking import Asking
from tests.client.consuming import Heard
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer
from tests.live.changing import reached
from tests.live.conftest import Run, change
from tests.live.failing import fail
from tests.live.members import member, until
from tests.live.offset.test_offsets import BEFORE, DO, offsets, planned
from tests.store.builder import StoreBuilder, message

_SECONDS = 60
_SEND, _COMMIT, _QUERY = 310, 15, 12
_CHANGES = (10, 15, 17, 25, 36, 200, 215, 222, 310, 314, 320)
SKIP = ("offset", "skip", "-g", "G", "-t", "Pay")
AGAIN = ("--execute", "--confirm", "Again", "-o", "json", "--rate", "10000")


@pytest.fixture(autouse=True)
def target(cluster: EmbeddedCluster) -> None:
    """A topic to publish to."""
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_topic(TopicConfig(name="Again", read_queue_count=2, write_queue_count=2)))


def keys_of(live: Run, topic: str) -> Counter[tuple[str, str]]:
    """How often each message of an origin is in a topic: by broker and first key."""
    messages = live("message", "peek", "-t", topic, "--from-start", "--count", 999, "-o", "json")
    assert messages.exit_code == 0, messages.stderr
    return Counter((row["broker_name"], row["keys"].split(" ")[0]) for row in rows(messages.json["messages"]))


def rows(messages: list[dict[str, object]]) -> list[dict[str, str]]:
    return [
        {
            "broker_name": str(dict(item["properties"]).get("MQCTL_ORIGIN_BROKER", "")),  # type: ignore[call-overload]
            "keys": str(dict(item["properties"])["KEYS"]),  # type: ignore[call-overload]
        }
        for item in messages
    ]


BACKLOG = Counter({(name, f"k{number}"): 1 for name in ("broker-a", "broker-b") for number in (3, 4)})


def test_skip_now_replay_later_loses_and_doubles_nothing(live: Run, tmp_path: Path) -> None:
    plan = live(*SKIP, "-o", "json")
    assert (plan.exit_code, plan.json["kind"], plan.json["skipped_count"], offsets(live)) == (
        0,
        "offset-skip",
        4,
        BEFORE,
    )
    file = tmp_path / "deep" / "backlog.json"
    done = live(*SKIP, *DO, "--replay-plan", file)
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    assert {
        (row["broker_name"], row["begin_offset"], row["end_offset"]) for row in json.loads(file.read_text())["ranges"]
    } == {
        ("broker-a", 3, 5),
        ("broker-b", 3, 5),
    }
    for source in (("--skipped", done.json["id"]), ("--from-file", str(file))):
        shown = live("replay", "publish", *source, "--to", "Again", "-o", "json")
        assert (shown.exit_code, shown.json["message_count"]) == (0, 4), shown.stderr
    replayed = live("replay", "publish", "--skipped", done.json["id"], "--to", "Again", *AGAIN)
    assert (replayed.exit_code, replayed.json["state"]) == (0, "complete"), replayed.stderr
    assert (replayed.json["published_count"], replayed.json["left_count"], replayed.json["in_doubt"]) == (4, 0, [])
    assert keys_of(live, "Again") == BACKLOG
    assert live("undo", done.json["id"], *DO).exit_code == 0
    assert offsets(live) == BEFORE


@pytest.mark.parametrize("mode", [ConsumeMode.CONCURRENT, ConsumeMode.ORDERLY])
def test_a_backlog_behind_a_slow_member_is_skipped_and_replayed_without_loss(
    live: Run, cluster: EmbeddedCluster, mode: ConsumeMode
) -> None:
    """With members online: each skipped message comes back once; consumed twice is at most what they had pulled."""
    backlog = set(BACKLOG)
    for name in ("broker-a", "broker-b"):
        with Peer(cluster.broker(name).address) as peer:
            for number in range(5, 25):
                assert peer.call(send("Pay", properties={"TAGS": "A", "KEYS": f"k{number}"}), b"x").code == 0
                backlog.add((name, f"k{number}"))
    gate = Event()
    with member(cluster, mode=mode, gate=gate) as heard:
        skipped = live(*SKIP, *DO)
        assert (skipped.exit_code, skipped.json["state"]) == (0, "confirmed"), skipped.stdout
        gate.set()
        words = ("--skipped", skipped.json["id"], "--to", "Pay", "--rate", "1000", "--execute", "--confirm", "Pay")
        done = live("replay", "publish", *words, "-o", "json")
        assert (done.exit_code, done.json["published_count"]) == (0, len(backlog)), done.stderr
        until(lambda: len(origins(heard)) >= len(backlog), "replayed")
        assert origins(heard) == Counter(dict.fromkeys(backlog, 1))
        direct = {
            (item.queue.broker_name, item.keys[0]) for item in heard.messages if ORIGIN_OFFSET not in properties(item)
        }
        assert direct <= backlog


def properties(message: ReceivedMessage) -> dict[str, str]:
    return dict(message.stored.properties)


def origins(heard: Heard) -> Counter[tuple[str, str]]:
    """The replayed messages that were heard: by broker of the original and first key."""
    pairs = [(properties(item), item.keys[0]) for item in list(heard.messages)]
    return Counter((known["MQCTL_ORIGIN_BROKER"], key) for known, key in pairs if ORIGIN_OFFSET in known)


@pytest.mark.parametrize("mode", [ConsumeMode.CONCURRENT, ConsumeMode.ORDERLY])
def test_members_get_the_skipped_backlog_later_each_message_once(
    live: Run, cluster: EmbeddedCluster, mode: ConsumeMode
) -> None:
    """The whole recovery with members online: what they consumed and what was replayed are all messages, once each."""
    skipped = live(*SKIP, *DO)
    assert skipped.exit_code == 0, skipped.stderr
    with member(cluster, mode=mode) as heard:
        done = live(
            "replay", "publish", "--skipped", skipped.json["id"], "--to", "Pay", "--execute", "--confirm", "Pay"
        )
        assert done.exit_code == 0, done.stderr
        heard.wait_for(4)
        until(lambda: sum(offsets(live).values()) == 14, "committed")
        counts = Counter(
            (message.stored.properties["MQCTL_ORIGIN_BROKER"], message.keys[0]) for message in heard.messages
        )
    assert counts == BACKLOG


def test_copies_say_where_they_come_from_and_keep_what_the_application_gave(live: Run) -> None:
    done = live("replay", "publish", "-t", "Pay", "--from-offset", 4, "--broker", "broker-a", "--to", "Again", *AGAIN)
    assert done.exit_code == 0, done.stderr
    (copy,) = live("message", "peek", "-t", "Again", "--from-start", "--body", "text", "-o", "json").json["messages"]
    properties = dict(copy["properties"])
    assert (copy["body"], copy["tags"], properties["KEYS"].split(" ")[0]) == ("x4", "A", "k4")
    assert (properties[REPLAY_ID], properties[ORIGIN_OFFSET]) == (done.json["id"], "4")
    by_key = live("message", "get", "-t", "Again", "--key", properties["KEYS"].split(" ")[1], "-o", "json")
    assert len(by_key.json["messages"]) == 1


@pytest.mark.parametrize(
    ("words", "expected", "filtered"),
    [
        (["--tags", "B"], 0, 10),
        (["--key", "k2"], 2, 8),
        (["--sql", "TAGS = 'A' AND KEYS <> 'k0'"], 8, 2),
        (["--to-offset", "2"], 4, 0),
        (["--to-offset", "99", "-q", "0", "--broker", "broker-b"], 5, 0),
    ],
)
def test_what_is_chosen_is_published_and_the_rest_counted(
    live: Run, words: list[str], expected: int, filtered: int
) -> None:
    done = live("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *words, *AGAIN)
    assert (done.exit_code, done.json["published_count"], done.json["filtered_count"]) == (0, expected, filtered), done
    assert sum(keys_of(live, "Again").values()) == expected


def test_the_plan_names_all_who_get_copies_or_says_that_it_cannot(live: Run, cluster: EmbeddedCluster) -> None:
    words = ("replay", "publish", "-t", "Pay", "--to", "Again", "--since", "-1h", "-o", "json")
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.version = 61
        heartbeat(peer, "client-9", group="Fresh", subscriptions={"Again": "*"})
        plan = live(*words)
    assert (plan.exit_code, plan.json["receivers"]) == (0, ["Fresh"]), plan.stderr
    cluster.fault(300, Answer(1, remark="not now"), server="broker-b")
    unknown = live(*words)
    cluster.clear_faults()
    assert (unknown.exit_code, "broker-b did not list the readers of Again" in unknown.stderr) == (76, True), unknown


def test_between_two_times_exactly(live: Run) -> None:
    messages = live("message", "peek", "-t", "Pay", "--broker", "broker-a", "--from-start", "--count", 9, "-o", "json")
    times = sorted(item["store_time_ms"] for item in messages.json["messages"])
    first, last = times[1], times[-1]
    words = ("-t", "Pay", "--since", first, "--until", last, "--broker", "broker-a", "--to", "Again")
    shown = live("replay", "publish", *words, "-o", "json")
    within = sum(first <= time_ms < last for time_ms in times)
    if within:
        assert (shown.exit_code, shown.json["message_count"]) == (0, within), shown.stderr
    else:
        assert (shown.exit_code, "there is no message in that range" in shown.stderr) == (64, True), shown.stderr


def test_plans_send_no_changing_request(live: Run, cluster: EmbeddedCluster) -> None:
    skipped = live(*SKIP, *DO)
    cluster.record_requests()
    for words in (
        SKIP,
        ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again"),
        ("replay", "group", "-g", "New", "-t", "Pay", "--from-offset", "0"),
        ("replay", "group", "-g", "New", "--skipped", skipped.json["id"]),
        ("replay", "status"),
        ("undo", skipped.json["id"]),
    ):
        assert live(*words).exit_code == 0, words
    assert cluster.requests()
    assert [request.code for request in cluster.requests() if request.code in _CHANGES] == []


def test_a_group_of_its_own_consumes_up_to_the_end_that_was_kept(live: Run, cluster: EmbeddedCluster) -> None:
    first = live("replay", "group", "-g", "New", "-t", "Pay", "--from-offset", "2", "-o", "json").json
    waiting = sum(max(0, row["max_offset"] - max(2, row["min_offset"])) for row in first["queues"])
    assert (first["first_read_count"], first["replayed_count"]) == (waiting, 0)
    text = live("replay", "group", "-g", "New", "-t", "Pay", "--from-offset", "2").stdout
    assert "it has no offset in" in text and "skipped" not in text.lower()
    words = ("replay", "group", "-g", "New", "-t", "Pay", "--from-offset", "2", "--to-offset", "4")
    shown = live(*words, "-o", "json")
    assert (shown.exit_code, shown.json["creates_on"]) == (0, ["broker-a", "broker-b"]), shown.stderr
    assert {key: new for key, new in planned(shown.json).items() if key[1] == 0} == {
        ("broker-a", 0): 2,
        ("broker-b", 0): 2,
    }
    done = live(*words, "--execute", "--confirm", "New", "-o", "json")
    assert (done.exit_code, done.json["kind"], done.json["state"]) == (0, "replay-group", "confirmed"), done.stderr
    before = live("replay", "status", done.json["id"], "-o", "json")
    assert (before.exit_code, before.json["state"], before.json["left_count"]) == (1, "started", 4), before.stderr
    with member(cluster, group="New") as heard:
        heard.wait_for(6)
        until(lambda: live("replay", "status", done.json["id"]).exit_code == 0, "reached")
    assert {message.queue_offset for message in heard.messages} == {2, 3, 4}
    after = live("replay", "status", done.json["id"], "-o", "json")
    assert (after.json["state"], after.json["left_count"]) == ("reached", 0)
    listed = live("replay", "status", "-o", "json").json["replays"]
    assert [(item["id"], item["goal"], item["state"]) for item in listed] == [(done.json["id"], "New", "unknown")]


def test_a_replay_by_a_group_is_taken_back_and_finished_like_any_change(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    words = ("replay", "group", "-g", "New", "-t", "Pay", "--from-offset", "2", "--execute", "--confirm", "New")
    cluster.fault(_COMMIT, Drop(), server="broker-b")
    stopped = live(*words, "-o", "json", "--timeout", "4s")
    cluster.clear_faults()
    assert (stopped.exit_code, stopped.json["state"]) == (3, "unknown"), stopped.stderr
    done = live("offset", "reset", "--resume", stopped.json["id"], "--execute", "--confirm", "New", "-o", "json")
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    assert offsets(live, "New") == {("broker-a", 0): 2, ("broker-a", 1): 0, ("broker-b", 0): 2, ("broker-b", 1): 0}
    undo = live("undo", done.json["id"])
    assert (undo.exit_code, "none had an offset before" in undo.stderr) == (76, True)


def test_a_full_journal_publishes_nothing(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    cluster.record_requests()
    for words in (
        ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN),
        (*SKIP, *DO),
        (*SKIP, *DO, "--replay-plan", str(blocked / "plan.json")),
        ("replay", "group", "-g", "G", "-t", "Pay", "--from-offset", "0", *DO),
    ):
        outcome = live(*words, env={} if "--replay-plan" in words else {"MQCTL_STATE_DIR": str(blocked)})
        assert (outcome.exit_code, "could not write" in outcome.stderr) == (74, True), outcome.stderr
    assert [request.code for request in cluster.requests() if request.code in _CHANGES] == []
    assert offsets(live) == BEFORE


def test_the_retry_topic_is_moved_and_skipped_with_its_group(live: Run, cluster: EmbeddedCluster) -> None:
    fail(cluster, "broker-a", 2, level=1)
    retries = "%RETRY%G"
    until(
        lambda: live("message", "peek", "-t", retries, "--from-start", "-o", "json").json["messages"] != [], "retried"
    )
    done = live(*SKIP, "--with-retry", *DO)
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    moved = {(row["topic"], row["broker_name"]): (row["old"], row["new"]) for row in done.json["queues"]}
    assert moved[retries, "broker-a"] == (None, 1)
    back = live("replay", "publish", "--skipped", done.json["id"], "--to", "Again", *AGAIN)
    assert (back.exit_code, back.json["published_count"]) == (0, 5), back.stderr


def test_a_group_with_members_is_not_pointed_at_a_replay(live: Run, cluster: EmbeddedCluster) -> None:
    with member(cluster) as heard:
        heard.wait_for(4)
        refused = live("replay", "group", "-g", "G", "-t", "Pay", "--from-offset", "0")
        without_topic = live("replay", "group", "G", "--since", "-10m")
    assert (refused.exit_code, "members" in refused.stderr) == (76, True), refused.stderr
    assert "topic Pay, the only one of group G" in without_topic.stderr
    assert "mqctl offset reset -g G -t Pay --by-duration 10m" in without_topic.stderr


def test_an_answer_that_is_lost_is_looked_up_and_the_message_not_sent_twice(
    live: Run, cluster: EmbeddedCluster
) -> None:
    cluster.fault(_SEND, CutFrame(), times=2)
    done = live("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    cluster.clear_faults()
    assert (done.exit_code, done.json["published_count"], done.json["found_count"]) == (0, 10, 2), done.stderr
    assert sum(keys_of(live, "Again").values()) == 10


def test_what_a_broker_says_it_stored_and_has_not_is_not_published(live: Run, cluster: EmbeddedCluster) -> None:
    skipped = live(*SKIP, *DO).json["id"]
    lie = {"msgId": "7F00000100002A9F0000000000000BAD", "queueId": "0", "queueOffset": "7"}
    cluster.fault(_SEND, Answer(code=0, ext_fields=lie))
    words = ("replay", "publish", "--skipped", skipped, "--to", "Again", *AGAIN)
    done = live(*words)
    cluster.clear_faults()
    assert (done.exit_code, "gone: " in done.stderr) == (2, True), done
    (row,) = live("replay", "status", "-o", "json").json["replays"]
    assert row["published_count"] == 0
    assert live("replay", "resume", row["id"], *AGAIN[:-2]).exit_code == 0
    assert keys_of(live, "Again") == BACKLOG


def test_what_cannot_be_read_back_is_looked_up_by_its_key(live: Run, cluster: EmbeddedCluster) -> None:
    skipped = live(*SKIP, *DO).json["id"]
    cluster.fault(33, Answer(code=16, remark="no permission"))
    words = ("replay", "publish", "--skipped", skipped, "--to", "Again", *AGAIN)
    done = live(*words)
    assert (done.exit_code, done.json["in_doubt"]) == (0, []), done.stderr
    assert keys_of(live, "Again") == BACKLOG


def test_what_cannot_be_looked_up_is_sent_again_and_named(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_SEND, CutFrame(), times=1)
    cluster.fault(_QUERY, Answer(code=1, remark="busy"))
    done = live("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    cluster.clear_faults()
    assert (done.exit_code, done.json["state"], done.json["published_count"]) == (3, "in-doubt", 10), done.stderr
    (doubt,) = done.json["in_doubt"]
    assert ("could not be looked up" in doubt["reason"], doubt["key"].startswith("replay-")) == (True, True)
    twice = live("message", "get", "-t", "Again", "--key", doubt["key"], "-o", "json").json["messages"]
    assert (len(twice), sum(keys_of(live, "Again").values())) == (2, 11)


@pytest.mark.parametrize("stored", [False, True])
def test_killed_between_two_messages_it_is_resumed_without_loss_or_double(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path, stored: bool
) -> None:
    """The process is killed while it waits for the answer about a message: one that is stored, or one that is not."""
    if stored:  # the answer is cut, and the look-up that follows finds nobody
        cluster.fault(_SEND, CutFrame(), server="broker-b")
        cluster.fault(_QUERY, Drop())
    else:
        cluster.fault(_SEND, Drop(), server="broker-b")
    cluster.record_requests()
    words = ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *words],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    reached(cluster, *((_QUERY,) if stored else (_SEND, "broker-b")))
    os.kill(process.pid, signal.SIGKILL)
    process.wait(_SECONDS)
    cluster.clear_faults()
    (listed,) = live("replay", "status", "-o", "json").json["replays"]
    assert (listed["state"], listed["published_count"]) == ("interrupted", 5)
    left = live("replay", "resume", listed["id"], "-o", "json")
    assert (left.exit_code, left.json["left_count"]) == (0, 5), left.stderr
    done = live("replay", "resume", listed["id"], "--execute", "--confirm", "Again", "-o", "json")
    assert (done.exit_code, done.json["state"], done.json["published_count"]) == (0, "complete", 10), done.stderr
    assert done.json["found_count"] == int(stored)
    expected = Counter({(name, f"k{number}"): 1 for name in ("broker-a", "broker-b") for number in range(5)})
    assert keys_of(live, "Again") == expected
    again = live("replay", "resume", listed["id"], "--execute", "--confirm", "Again")
    assert (again.exit_code, "complete" in again.stderr) == (76, True)


def test_a_complete_replay_leaves_no_lock_behind(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    locks = tmp_path / "mqctl_state_dir" / "journal"
    cluster.fault(_SEND, Answer(code=16, remark="no permission"), server="broker-b")
    words = ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    assert live(*words).exit_code == 2
    cluster.clear_faults()
    (lock,) = locks.glob(".replay_*")
    replay = live("replay", "status", "-o", "json").json["replays"][0]["id"]
    assert replay in lock.name
    assert live("replay", "resume", replay, "--execute", "--confirm", "Again").exit_code == 0
    assert list(locks.glob(".replay_*")) == []
    lock.touch()  # one who was killed between the end and its clearing up
    assert live(*words).exit_code == 0
    assert list(locks.glob(".replay_*")) == []


def test_one_of_two_that_resume_a_replay_goes_on_with_it(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both read the record before either has its lock: the second would publish from where it stood."""
    cluster.fault(_SEND, Answer(code=16, remark="no permission"), server="broker-b")
    words = ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    assert live(*words).exit_code == 2
    cluster.clear_faults()
    monkeypatch.setenv("MQCTL_STATE_DIR", str(tmp_path / "mqctl_state_dir"))
    (record,) = journal().replays.all()
    target = cluster_target(cluster.namesrv, None, None)
    with target.open() as cluster_seen:
        asking = Asking(cluster_seen, target.deadline())

        def overtaken_when_planned() -> PublishPlan:
            plan = resume_plan(asking, record, execute=True)
            assert live("replay", "resume", record.id, "--execute", "--confirm", "Again").exit_code == 0
            return plan

        with pytest.raises(BadInputError, match="another mqctl has gone on"):
            run_publishing(asking, Consent(execute=True, confirmed="Again"), overtaken_when_planned)
    assert set(keys_of(live, "Again").values()) == {1}
    assert journal().replays.read(record.id).ended


def test_a_target_that_stops_serving_leaves_a_replay_that_goes_on(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_SEND, Answer(code=16, remark="no permission"), server="broker-b")
    stopped = live("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", *AGAIN)
    cluster.clear_faults()
    assert (stopped.exit_code, stopped.json["state"], stopped.json["published_count"]) == (2, "interrupted", 5)
    assert "replay resume" in stopped.stderr
    done = live("replay", "resume", stopped.json["id"], "--rate", "5000", "--execute", "--confirm", "Again")
    assert done.exit_code == 0, done.stderr
    assert sum(keys_of(live, "Again").values()) == 10


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("publish", "--to", "Again"), 64, "no messages to replay given"),
        (("publish", "-t", "Pay", "--to", "Again"), 64, "--since"),
        (("publish", "-t", "Pay", "--from-offset", "5", "--to", "Again"), 64, "nothing to replay"),
        (("publish", "-t", "Pay", "--since", "+1h", "--to", "Again"), 64, "nothing to replay"),
        (("publish", "-t", "Pay", "--since", "-1h", "--until", "-2h", "--to", "Again"), 64, "is before"),
        (("publish", "-t", "Pay", "--from-offset", "0", "--to", "nowhere"), 66, "nowhere"),
        (("publish", "-t", "nowhere", "--from-offset", "0", "--to", "Again"), 66, "nowhere"),
        (("publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", "--sql", "a ="), 64, "a ="),
        (("publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", "--execute"), 76, "--confirm Again"),
        (("publish", "--skipped", "20200101-000000-0000", "--to", "Again"), 66, "mqctl history"),
        (("publish", "--from-file", "/nowhere", "--to", "Again"), 66, "/nowhere"),
        (("status", "20200101-000000-0000"), 66, "replay status"),
        (("resume", "../x"), 66, "replay status"),
    ],
)
def test_bad_input(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live("replay", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_plan_of_another_cluster_or_of_nothing_is_refused(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    done = live(*SKIP, *DO, "--replay-plan", file)
    assert done.exit_code == 0, done.stderr
    document = json.loads(file.read_text())
    for row in document["ranges"]:
        row["broker_address"] = "192.0.2.9:10911"
    file.write_text(json.dumps(document))
    other = live("replay", "publish", "--from-file", file, "--to", "Again")
    assert (other.exit_code, "another cluster" in other.stderr) == (65, True), other.stderr
    file.write_text("{}")
    broken = live("replay", "publish", "--from-file", file, "--to", "Again")
    assert (broken.exit_code, "is not a replay plan" in broken.stderr) == (65, True), broken.stderr


def test_messages_of_a_log_without_queues_are_published_again(live: Run, tmp_path: Path) -> None:
    """What a recovery set aside: a part of a commit log that begins with a damaged record."""
    built = StoreBuilder()
    for number in range(40):
        built.append(message("Lost", number % 2, b"body", {"KEYS": f"k{number}"}, store_time_ms=1_795_218_000_000))
    built.write(tmp_path)
    shutil.rmtree(tmp_path / "consumequeue")
    with (tmp_path / "commitlog" / ("0" * 20)).open("r+b") as log:
        log.write(bytes(64))
    ask = ("replay", "publish", "--store", tmp_path, "-t", "Lost", "--to", "Again")

    plan = live(*ask, "-o", "json")
    assert (plan.exit_code, plan.json["message_count"]) == (0, 39)
    assert not keys_of(live, "Again")
    fewer = live(*ask, "-q", "1", "--from-offset", "5", "--to-offset", "7", "-o", "json")
    assert fewer.json["message_count"] == 2

    done = live(*ask, *AGAIN)
    assert (done.exit_code, done.json["published_count"]) == (0, 39), done.stderr
    keys = keys_of(live, "Again")
    assert keys == Counter({("127.0.0.1:10911", f"k{number}"): 1 for number in range(1, 40)})
    assert live(*ask, "--since", "-1h").exit_code == 64
