"""`subscription check --all` and `subscription simulate` against live groups: verdicts, shares, the safe way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group, put_topic
from mqctl.errors import NotFoundError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ProcessQueueInfo, SubscriptionData
from mqctl.snapshot.store.tags import count_tags
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run, change

BROKERS = ("broker-a", "broker-b")


@pytest.fixture
def cast(cluster: EmbeddedCluster) -> Iterator[Cast]:
    with Cast(cluster) as members:
        yield members


def holding(client_id: str, broker: str, wanted: str = "A", **more: object) -> Scripted:
    """A member that holds both queues of one broker."""
    queues = {MessageQueue("Pay", broker, number): ProcessQueueInfo() for number in (0, 1)}
    return Scripted(client_id=client_id, topics={"Pay": wanted}, queues=queues, **more)  # type: ignore[arg-type]


def stored(cluster: EmbeddedCluster, broker: str) -> int:
    """Counts the queue entries of Pay that are on the broker's disk."""
    try:
        samples = count_tags(cluster.data_dir / broker, broker, ["Pay"], ["A"])
    except NotFoundError:
        return 0
    return sum(sample.message_count for sample in samples)


def test_nobody_online_is_unknown(live: Run) -> None:
    outcome = live("subscription", "check", "-g", "G")
    assert (outcome.exit_code, "no member is online" in outcome.stdout) == (3, True)
    everything = live("subscription", "check", "--all", "-o", "json")
    assert (everything.exit_code, everything.json["groups"][0]["verdict"]) == (3, "offline")


def test_all_groups_are_checked_at_once(live: Run, cast: Cast) -> None:
    cast.join(holding("one", "broker-a"), holding("two", "broker-b"))
    same = live("subscription", "check", "--all", "-o", "json")
    assert same.exit_code == 0, same.stdout
    assert [(row["group"], row["verdict"]) for row in same.json["groups"]] == [("G", "same")]
    cast.join(Scripted(client_id="three", group="H"), Scripted(client_id="four", group="H", silent=True))
    some = live("subscription", "check", "--all", "-o", "json", "--timeout", "3s")
    rows = {row["group"]: (row["verdict"], row["silent_count"]) for row in some.json["groups"]}
    assert (some.exit_code, rows["H"]) == (3, ("unknown", 1))
    cast.change("two", topics={"Pay": "B"})
    torn = live("subscription", "check", "--all", "--timeout", "3s", "-o", "json")
    (row,) = [row for row in torn.json["groups"] if row["group"] == "G"]
    # What the owner of broker-b's queues wants is B, and all ten messages are A.
    assert (torn.exit_code, row["verdict"], row["lost_count"], row["sampled_count"]) == (2, "differ", 5, 10)
    shown = live("subscription", "check", "--all", "--timeout", "3s")
    assert (shown.exit_code, "members differ" in shown.stdout) == (2, True)
    assert live("subscription", "check", "--all", "-g", "G").exit_code == 64


def test_without_a_group_those_that_are_online_are_checked_and_the_others_counted(
    live: Run, cast: Cast, cluster: EmbeddedCluster
) -> None:
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="idle")))
    nobody = live("subscription", "check")
    assert (nobody.exit_code, nobody.stdout) == (3, "groups without members online, not shown: 2; --all\n"), nobody
    cast.join(holding("one", "broker-a"), holding("two", "broker-b"))
    alone, every = live("subscription", "check"), live("subscription", "check", "--all")
    assert (alone.exit_code, "idle" in alone.stdout, "not shown: 1; --all" in alone.stdout) == (0, False, True), alone
    assert (every.exit_code, "idle" in every.stdout, "not shown" in every.stdout) == (0, True, False), every


def test_queues_that_nobody_consumes_are_listed_with_what_waits(
    live: Run, cast: Cast, cluster: EmbeddedCluster
) -> None:
    cast.join(holding("one", "broker-a"), Scripted(client_id="two", topics={"Other": "*"}))
    checked = live("subscription", "check", "-g", "G", "-o", "json")
    assert checked.exit_code == 2
    assert [(row["broker"], row["queue_id"], row["slot"], row["waiting_count"]) for row in checked.json["orphans"]] == [
        ("broker-b", 0, "two", 2),
        ("broker-b", 1, "two", 0),
    ]
    assert "without a consumer" in live("subscription", "check", "-g", "G").stdout


def test_a_grey_release_is_predicted_by_what_members_hold(live: Run, cast: Cast, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-b").address) as peer:
        for _ in range(3):
            assert peer.call(send("Pay", queue_id=1, properties={"TAGS": "B"}), b"x").code == 0
    cast.join(holding("one", "broker-a"), holding("two", "broker-b"))
    plan = ("subscription", "simulate", "-g", "G", "-t", "Pay", "--to")
    outcome = live(*plan, "B", "--instances", "1", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    report = outcome.json
    assert (report["old"], report["new"], report["changed"], report["owners_from"]) == ("A", "B", ["two"], "held")
    rows = {row["tag"]: row for row in report["losses"]}
    # Ten messages A, five with each owner; three B, all with the member that changes.
    assert (rows["A"]["lost_if_old_count"], rows["A"]["lost_if_new_count"]) == (5, 10)
    assert (rows["B"]["lost_if_old_count"], rows["B"]["lost_if_new_count"]) == (3, 0)
    assert {row["margin_share"] for row in rows.values()} == {0.0}
    assert [(step["before"], step["after"], step["lost_count"]) for step in report["safe_way"]] == [
        ("A", "A || B", 0),
        ("A || B", "B", 0),
    ]
    text = live(*plan, "B", "--client", "one").stdout
    assert "mqctl offset clone" in text
    assert "A || B" in text


def test_without_messages_the_share_is_not_known_and_strategies_can_be_named(
    live: Run, cast: Cast, cluster: EmbeddedCluster
) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Empty", read_queue_count=2, write_queue_count=2)))
    members = [Scripted(client_id=name, topics={"Empty": "A"}) for name in ("one", "two")]
    cast.join(*members)
    words = ("subscription", "simulate", "-g", "G", "-t", "Empty", "--to", "B", "--instances", "1")
    report = live(*words, "-o", "json").json
    assert (report["sampled_count"], report["losses"], report["owners_from"]) == (0, [], "AVG")
    assert [step["lost_count"] for step in report["safe_way"]] == [None, None]
    assert live(*words, "--strategy", "circle", "-o", "json").json["owners_from"] == "AVG_BY_CIRCLE"


def test_tags_are_counted_in_a_store(live: Run, cast: Cast, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cast.join(holding("one", "broker-a"), holding("two", "broker-b", "B"))
    for name in BROKERS:
        wait_until(lambda name=name: stored(cluster, name) == 5, "queue entries on disk")  # type: ignore[misc]
    stores = [f"{name}={cluster.data_dir / name}" for name in BROKERS]
    words = ("subscription", "check", "-g", "G", "-o", "json")
    counted = live(*words, *(word for store in stores for word in ("--tags-from", store)))
    assert counted.exit_code == 2, counted.stderr
    (row,) = counted.json["losses"]
    assert (row["tag"], row["sampled_count"], row["lost_count"], row["margin_share"]) == ("A", 10, 5, 0.0)
    assert live(*words, "--tags-from", "nobody=/x").exit_code == 64
    assert live(*words, "--tags-from", f"broker-a={tmp_path / 'none'}").exit_code == 66


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--to", "B"), 64, "--instances"),
        (("--to", "B", "--instances", "9"), 64, "9 of 2"),
        (("--to", "B", "--client", "nobody"), 64, "nobody"),
        (("--to", "||", "--instances", "1"), 64, "names no tag"),
    ],
)
def test_what_makes_no_sense(live: Run, cast: Cast, words: tuple[str, ...], code: int, said: str) -> None:
    cast.join(holding("one", "broker-a"), holding("two", "broker-b"))
    outcome = live("subscription", "simulate", "-g", "G", "-t", "Pay", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_a_release_of_sql_or_of_nobody_is_refused(live: Run, cast: Cast) -> None:
    words = ("subscription", "simulate", "-g", "G", "-t", "Pay", "--to", "B", "--instances", "1")
    assert live(*words).exit_code == 66
    sql = SubscriptionData(topic="Pay", expression_type="SQL92", sub_string="a > 1", sub_version=1)
    cast.join(Scripted(client_id="one", topics={"Pay": sql}))
    outcome = live(*words)
    assert (outcome.exit_code, "group of its own" in outcome.stderr) == (76, True), outcome.stderr
