"""Snapshots that may leave the house: nothing tells who the clients are, and every rule judges them the same."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from embedded_broker import EmbeddedCluster
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import GroupMembership, Member
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import HotKey, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.archive import load_snapshot
from mqctl.snapshot.leftovers import left_in, texts_of
from mqctl.snapshot.redaction import redacted
from mqctl.text import encoded
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Consume, Run

_WORD = r"[\w.@:/#+-]+"
BODY, PROPERTY = b"the body 4711-qxz", "property-4711-qxz"


def content(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def judged(live: Run, file: Path) -> list[tuple[str, str]]:
    report = live("doctor", "--snapshot", file, "-o", "json").json
    return sorted(
        (finding["code"], re.sub(r"\S+@\S+|[\d.]+:\d+", "*", finding["subject"])) for finding in report["findings"]
    )


def test_bodies_and_properties_are_in_no_snapshot(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        for _ in range(50):
            assert peer.call(send("Pay", properties={"note": PROPERTY, "TAGS": "A"}), BODY).code == 0
    file = tmp_path / "plain.snap"
    assert live("snapshot", "save", file).exit_code == 0
    assert BODY.decode() not in content(file)
    assert PROPERTY not in content(file)


def test_a_redacted_snapshot_names_no_client_and_is_judged_the_same(
    live: Run, consume: Consume, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    consume("sleep", name="payments-of-alice")
    plain, safe = tmp_path / "plain.snap", tmp_path / "safe.snap"
    assert live("snapshot", "save", plain, "--stacks").exit_code == 0
    assert live("snapshot", "save", safe, "--stacks", "--redact").exit_code == 0
    assert "127.0.0.1" in content(plain)
    assert "payments-of-alice" in content(plain)
    for word in ("127.0.0.1", "payments-of-alice", str(tmp_path), str(cluster.data_dir), "/home/"):
        assert word not in content(safe), word
    whole = load_snapshot(plain)
    before, after = _plain(whole), _plain(redacted(whole))
    gone = set(_gone(before, after))
    left = {word for text in texts_of(after) for word in re.findall(_WORD, text)}
    assert ("payments-of-alice" in {part for word in gone for part in word.split("@")}, gone & left) == (True, set())
    assert judged(live, safe) == judged(live, plain)
    assert "made up" in live("snapshot", "show", safe).stdout
    members = live("group", "members", "-g", "G", "--snapshot", safe, "-o", "json").json["members"]
    assert {member["client_id"].partition("@")[2] for member in members} == {"instance-00001"}


def _snapshot(clients: list[str], reason: str = "", key: str = "k") -> ClusterSnapshot:
    members = tuple(Member(client_id=client, address=f"{client.partition('@')[0]}:4711") for client in clients)
    hot = HotKey(key=key, sampled_count=9, key_count=8)
    broker = BrokerSnapshot(
        name="broker-a",
        address="mq-a.example.com:10911",
        memberships=(GroupMembership(group="G", client_ids=tuple(clients), members=members),),
        queues=(
            QueueState(
                topic="T",
                queue_id=0,
                min_offset=0,
                max_offset=9,
                hot_key=hot,
            ),
        ),
        config={"namesrvAddr": "ns.example.com:9876", "storePathRootDir": "/home/alice/store", "brokerIP1": "10.0.0.9"},
        unavailable=(Gap(part=Part.RUNTIME, cause=Cause.SILENT, reason=reason),),
    )
    origin = Origin(
        kind=OriginKind.LIVE, location="ns.example.com:9876", observed_at_ms=1, observed_from=ObservedFrom.CLOCK
    )
    return ClusterSnapshot(origin=origin, brokers=(broker,))


def test_every_name_of_a_machine_or_person_goes() -> None:
    clients = ["10.0.0.1@alice", "HT-10.0.0.1@123#456", "10.0.0.10@DEFAULT@unit", "fe80::1@bob", "carol-pc@x"]
    reason = "mq-a.example.com:10911 did not answer 10.0.0.1@alice in /home/alice/store; [fe80::1]:9 neither"
    text = json.dumps(_plain(redacted(_snapshot(clients, reason, "13800138000"))))
    for word in ("10.0.0.", "alice", "bob", "carol", "fe80", "example.com", "13800138000"):
        assert word not in text, word
    for word in ("HT-", "123#456", "DEFAULT", "did not answer", '"T"', "broker-a", "namesrvAddr"):
        assert word in text, word


def test_values_that_stand_where_none_was_expected_go_too() -> None:
    seen = _snapshot(["10.0.0.1@alice-77", "carol-pc@x"], key="13800138000")
    (broker,) = seen.brokers
    odd = {
        "commitLogDiskRatio_/data/mq/commitlog": "0.5",
        "lastPusher carol-pc@x": "1",
        "dirs": "primary=/home/alice/store;spare:/data/mq/commitlog",
        "said": "13800138000",
    }
    replaced = redacted(replace(seen, brokers=(replace(broker, runtime=odd, version="V4_9_8 by alice-77"),)))
    text = json.dumps(_plain(replaced))
    for word in ("/data/mq", "carol", "alice", "13800138000"):
        assert word not in text, word
    assert any(key.startswith("commitLogDiskRatio_") for key in replaced.brokers[0].runtime)
    assert left_in("10.0.0.1:9876 and /data/mq", frozenset({"10.0.0.1", "/data/mq"})) == ["/data/mq", "10.0.0.1"]


def _gone(before: Any, after: Any) -> Iterator[str]:
    """Yields every word of a tree that stands no more where it stood; tables and lists keep their order."""
    if isinstance(before, dict):
        for (name, value), (new_name, new_value) in zip(before.items(), after.items(), strict=True):
            yield from _gone(name, new_name)
            yield from _gone(value, new_value)
    elif isinstance(before, list | tuple):
        for value, new_value in zip(before, after, strict=True):
            yield from _gone(value, new_value)
    elif isinstance(before, str):
        yield from set(re.findall(_WORD, before)) - set(re.findall(_WORD, after))


def _plain(snapshot: ClusterSnapshot) -> Any:
    import msgspec

    return msgspec.to_builtins(snapshot, enc_hook=encoded)


octet = st.integers(0, 255)
client_ids = st.builds(
    lambda room, parts, name: f"{room}{'.'.join(map(str, parts))}@{name}",
    st.sampled_from(["", "", "HT-", "CP-"]),
    st.tuples(octet, octet, octet, octet),
    st.one_of(st.just("DEFAULT"), st.from_regex(r"[0-9]{1,5}#[0-9]{1,9}", fullmatch=True)),
)


@given(st.lists(client_ids, min_size=1, max_size=12))
def test_clients_keep_their_order_and_their_number(clients: list[str]) -> None:
    """Rebalancing sorts client ids: who owns which queue is read from a redacted snapshot as from the plain one."""
    group = redacted(_snapshot(clients)).brokers[0].memberships[0]
    new = dict(zip(clients, group.client_ids, strict=True))
    assert len(set(new.values())) == len(set(clients))
    assert [new[client] for client in sorted(set(clients))] == sorted(set(group.client_ids))
    assert [member.client_id for member in group.members] == list(group.client_ids)


def test_a_snapshot_of_a_store_keeps_no_path(mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path) -> None:
    store = golden_store("store-clean")
    file = tmp_path / "store.snap"
    assert mqctl("snapshot", "save", "--store", store, file, "--redact").exit_code == 0
    assert str(store.parent) not in content(file)
    assert load_snapshot(file).origin.redacted
