"""`mqctl cluster export` and `mqctl cluster apply`: topics and groups of a file, on clusters of both releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changing import changes
from tests.live.conftest import Run, change

DO = ("--execute", "-o", "json")


@pytest.fixture
def file(live: Run, tmp_path: Path) -> Path:
    """What the cluster exports: topic Pay and group G."""
    outcome = live("cluster", "export", "-o", "yaml")
    assert outcome.exit_code == 0, outcome.stderr
    path = tmp_path / "settings.yaml"
    path.write_text(outcome.stdout)
    return path


def edited(file: Path, **parts: Any) -> Path:
    """Writes other topics and groups into the file."""
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **parts}))
    return file


def steps(document: dict[str, Any]) -> dict[tuple[str, str], tuple[bool, str | None]]:
    return {(step["subject"], step["place"]): (step["moves"], step["becomes"]) for step in document["steps"]}


def test_what_is_exported_is_there_and_nothing_is_to_do(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    exported = yaml.safe_load(file.read_text())
    assert [(item["name"], item["brokers"]) for item in exported["topics"]] == [("Pay", ["broker-a", "broker-b"])]
    assert [item["name"] for item in exported["groups"]] == ["G"]
    assert (exported["topics"][0]["settings"]["read_queue_count"], exported["schema"]) == (2, "cluster.settings/1")
    cluster.record_requests()
    outcome = live("cluster", "apply", file)
    assert (outcome.exit_code, "nothing to do" in outcome.stdout, changes(cluster)) == (0, True, []), outcome.stderr
    table = live("cluster", "export").stdout
    assert "read_queue_count=2 write_queue_count=2" in table
    assert "1 topic and 1 group of DefaultCluster" in table


def test_topics_that_differ_between_brokers_stand_once_for_each(live: Run, cluster: EmbeddedCluster) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=4, write_queue_count=4)))
    exported = live("cluster", "export", "-t", "Pa*", "-o", "json").json
    assert [(item["brokers"], item["settings"]["read_queue_count"]) for item in exported["topics"]] == [
        (["broker-b"], 2),
        (["broker-a"], 4),
    ]
    assert exported["groups"] == []
    assert live("cluster", "export", "-g", "G", "-o", "json").json["topics"] == []
    assert live("cluster", "export", "--except", "Pay", "--except", "G", "-o", "json").json["groups"] == []


def test_a_file_is_applied_as_one_change_and_undone(live: Run, file: Path) -> None:
    both = ["broker-a", "broker-b"]
    edited(
        file,
        topics=[
            {"name": "New", "brokers": both, "settings": {"read_queue_count": 3, "write_queue_count": 3}},
            {"name": "Half", "brokers": ["broker-b"], "settings": {"perm": 4}},
        ],
        groups=[{"name": "H", "brokers": both, "settings": {"retry_max_times": 3}}],
    )
    plan = live("cluster", "apply", file, "-o", "json").json
    assert {key: moves for key, (moves, _) in steps(plan).items()} == {
        ("New", "broker-a"): True,
        ("New", "broker-b"): True,
        ("Half", "broker-b"): True,
        ("H", "broker-a"): True,
        ("H", "broker-b"): True,
    }
    done = live("cluster", "apply", file, *DO)
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    exported = live("cluster", "export", "-o", "json").json
    assert {item["name"] for item in exported["topics"]} == {"Pay", "New", "Half"}
    assert next(item for item in exported["groups"] if item["name"] == "H")["settings"]["retry_max_times"] == 3
    undone = live("undo", done.json["id"], *DO, "--confirm", "DefaultCluster")
    assert (undone.exit_code, undone.json["state"]) == (0, "confirmed"), undone.stderr
    assert {item["name"] for item in live("cluster", "export", "-o", "json").json["topics"]} == {"Pay"}


def test_what_differs_stays_unless_it_is_to_be_changed(live: Run, file: Path) -> None:
    both = ["broker-a", "broker-b"]
    edited(
        file,
        topics=[{"name": "Pay", "brokers": both, "settings": {"read_queue_count": 6, "write_queue_count": 6}}],
        groups=[{"name": "G", "brokers": both, "settings": {"consume_enable": False}}],
    )
    kept = live("cluster", "apply", file)
    assert (kept.exit_code, "nothing to do" in kept.stdout) == (0, True), kept.stderr
    said = " ".join(kept.stdout.split())
    assert "topic Pay on broker-a, topic Pay on broker-b, group G on broker-a and 1 more have other settings" in said
    unsure = live("cluster", "apply", file, "--update", *DO)
    assert unsure.exit_code == 76, unsure.stderr
    done = live("cluster", "apply", file, "--update", *DO, "--confirm", "DefaultCluster")
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    exported = live("cluster", "export", "-o", "json").json
    assert exported["topics"][0]["settings"]["read_queue_count"] == 6
    assert exported["groups"][0]["settings"]["consume_enable"] is False


def test_unread_queues_do_not_go_by_a_file_either(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=1)))
    with Peer(cluster.broker("broker-b").address) as peer:
        assert peer.call(send("Pay", queue_id=1), b"late").code == 0
    change(cluster, "broker-b", put_topic(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=1)))
    one = {"read_queue_count": 1, "write_queue_count": 1}
    edited(file, topics=[{"name": "Pay", "brokers": ["broker-b"], "settings": one}], groups=[])
    refused = live("cluster", "apply", file, "--update", *DO, "--confirm", "DefaultCluster")
    assert (refused.exit_code, "cannot be removed yet" in refused.stderr) == (76, True), refused.stderr


def test_other_brokers_are_named_or_given(live: Run, file: Path) -> None:
    edited(file, topics=[{"name": "New", "brokers": ["elsewhere"], "settings": {}}], groups=[])
    refused = live("cluster", "apply", file)
    assert (refused.exit_code, "there is no broker elsewhere" in refused.stderr) == (66, True), refused.stderr
    given = live("cluster", "apply", file, "--broker", "broker-b", "-o", "json")
    assert steps(given.json) == {("New", "broker-b"): (True, "read_queue_count=16 write_queue_count=16 perm=RW-")}


@pytest.mark.both_releases
def test_attributes_are_for_5_x(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    fifo = {"attributes": {"message.type": "FIFO"}}
    edited(file, topics=[{"name": "Fifo", "brokers": ["broker-a"], "settings": fifo}], groups=[])
    outcome = live("cluster", "apply", file, *DO)
    if not cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5):
        assert (outcome.exit_code, "does not know the setting attributes" in outcome.stderr) == (76, True)
    else:
        assert outcome.json["state"] == "confirmed", outcome.stderr
        (exported,) = live("cluster", "export", "-t", "Fifo", "-o", "json").json["topics"]
        assert exported["settings"]["attributes"] == {"message.type": "FIFO"}


def test_one_broker_cannot_have_two_settings_of_a_topic(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    edited(
        file,
        topics=[
            {"name": "New", "brokers": [broker], "settings": {"read_queue_count": count, "write_queue_count": count}}
            for broker, count in (("broker-a", 2), ("broker-b", 4))
        ],
    )
    refused = live("cluster", "apply", file, "--broker", "broker-a")
    assert (refused.exit_code, "topic New has several settings" in refused.stderr) == (64, True), refused.stderr
    assert live("cluster", "apply", file).exit_code == 0


@pytest.mark.both_releases
def test_a_retry_policy_that_cannot_come_back_is_not_overwritten(
    live: Run, cluster: EmbeddedCluster, file: Path
) -> None:
    if not cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5):
        pytest.skip("only 5.x groups have retry policies")
    policy = SubscriptionGroupConfig(name="G", retry_policy_type="EXPONENTIAL")
    change(cluster, "broker-a", put_group(policy, is_v5=True))
    overwritten = live("cluster", "apply", file, "--update", *DO, "--confirm", "DefaultCluster")
    assert (overwritten.exit_code, "would be lost" in overwritten.stderr) == (76, True), overwritten.stderr
    file.write_text(live("cluster", "export", "-o", "yaml").stdout)
    same = live("cluster", "apply", file)
    assert (same.exit_code, "nothing to do" in same.stdout) == (0, True), same.stderr


ONE = "topics: [{name: T, brokers: [broker-a], settings: {%s}}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "schema"),
        ("a: [", "line 2, column 1"),
        ("schema: cluster.settings/1", "names no topic and no group"),
        ("schema: cluster.settings/2\n" + ONE % "", "its schema is cluster.settings/2"),
        ("quotas: 1\n" + ONE % "", "unknown field `quotas`"),
        (ONE % "queues: 4", "has the setting queues, which is unknown"),
        (ONE % "read_queue_count: many", "read_queue_count of T is 'many'"),
        (ONE % "read_queue_count: 0", "possible: 1 to 65,536"),
        (ONE % "read_queue_count: 99999999999999", "possible: 1 to 65,536"),
        (ONE % "read_queue_count: true", "read_queue_count of T is 'true'"),
        (ONE % "perm: 99", "is not a permission"),
        ("topics: [{name: T, brokers: []}]", "has no broker"),
        ("topics: [{name: T, brokers: [a, a]}]", "is listed twice"),
        ("groups: [{name: G, brokers: [broker-a], settings: {retry_max_times: x}}]", "retry_max_times of G is 'x'"),
    ],
)
def test_a_file_that_cannot_be_is_refused_by_name(live: Run, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    outcome = live("cluster", "apply", path, *DO)
    assert (outcome.exit_code, str(path) in outcome.stderr) == (65, True), outcome.stderr
    assert said in " ".join(outcome.stderr.split()), outcome.stderr


def test_names_that_cannot_be_and_files_that_are_not_there(live: Run, tmp_path: Path) -> None:
    assert live("cluster", "apply", tmp_path / "none.yaml").exit_code == 66
    assert live("cluster", "apply", tmp_path).exit_code in {65, 74}
    for names in (
        "topics: [{name: 'a b', brokers: [broker-a]}]",
        "topics: [{name: RMQ_SYS_TRACE_TOPIC, brokers: [broker-a]}]",
    ):
        path = tmp_path / "bad.yaml"
        path.write_text(names)
        assert live("cluster", "apply", path).exit_code == 64, names
