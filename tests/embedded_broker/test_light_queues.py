"""Messages that name further queues for themselves, light ones above all: as 4.9.7, 5.3.3 and 5.5.0 treat them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import DeleteTopic, UpdateAndCreateSubscriptionGroup
from mqctl.protocol.requests_client import GetMaxOffset, QueryConsumerOffset, UpdateConsumerOffset
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.both_releases

LIGHT, OTHER = "%LMQ%x", "%LMQ%y"
_ON = {"enableLmq": "true", "enableMultiDispatch": "true"}
_SENT: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("one", "T", {"INNER_MULTI_DISPATCH": LIGHT}),
    ("both", "T", {"INNER_MULTI_DISPATCH": f"{LIGHT},{OTHER}"}),
    ("no light queue", "T", {"INNER_MULTI_DISPATCH": "Plain"}),
    ("light and not", "T", {"INNER_MULTI_DISPATCH": f"{LIGHT}, {OTHER}"}),
    ("empty item", "T", {"INNER_MULTI_DISPATCH": f"{LIGHT},"}),
    ("twice", "T", {"INNER_MULTI_DISPATCH": f"{LIGHT},{LIGHT}"}),
    ("half", "T", {"INNER_MULTI_DISPATCH": LIGHT, "TRAN_MSG": "true", "PGROUP": "GP"}),
    ("retried", "%RETRY%G", {"INNER_MULTI_DISPATCH": LIGHT}),
    ("last", "T", {"INNER_MULTI_DISPATCH": LIGHT, "TAGS": "A"}),
)
"""What was sent to real brokers: body, topic, properties."""
_LIGHT = {
    "4.9.8": ["one", "both", "light and not", "empty item", "twice", "half", "retried", "last"],
    "5.3.3": ["one", "both", "empty item", "twice", "half", "last"],
}
_NUMBERS = {"4.9.8": ["0", "1,0", "2,0", "3", "4,4", "5", "6", "7"], "5.3.3": ["0", "1,0", "3", "4,4", "6", "7"]}


@contextmanager
def started(release: str, directory: Path, **settings: str) -> Iterator[tuple[EmbeddedCluster, Peer]]:
    with (
        EmbeddedCluster(version=release, data_dir=directory, settings={**_ON, **settings}) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        yield cluster, peer


def send_all(peer: Peer) -> None:
    for body, topic, properties in _SENT:
        assert peer.call(send(topic, properties=dict(properties)), body.encode()).code == 0


def held(peer: Peer, queue: str, **more: object) -> tuple[list[str], list[str]]:
    """Returns bodies and offsets of the records in a light queue."""
    answer = peer.call(pull(queue, 0, **more))  # type: ignore[arg-type]
    records = decode_messages(answer.body) if answer.code == 0 else []
    return [record.body.decode() for record in records], [
        record.properties["INNER_MULTI_QUEUE_OFFSET"] for record in records
    ]


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
@pytest.mark.parametrize("as_real", ["false", "true"])
def test_a_message_is_in_the_queues_that_it_names(release: str, as_real: str, tmp_path: Path) -> None:
    """So it is after a kill, and after the queues were lost and made again from the log."""
    expected = (_LIGHT[release], _NUMBERS[release])
    with started(release, tmp_path, asReal=as_real) as (cluster, peer):
        waiting = peer.post(pull(OTHER, 0, wait_ms=30_000))
        send_all(peer)
        assert [record.body for record in decode_messages(peer.answer_to(waiting).body)] == [b"both"]
        batch = [BatchElement(body=b"batch", properties_text=f"INNER_MULTI_DISPATCH\x01{LIGHT}\x02")]
        assert peer.call(send("T", batch=True), encode_batch(batch)).code == 0
        assert peer.call(send("T"), b"after all").code == 0
        assert held(peer, LIGHT) == expected
        assert held(peer, LIGHT, subscription="A")[0] == ["last"]
        assert held(peer, OTHER)[0] == ["both"]
        assert peer.call(GetMaxOffset(topic=LIGHT, queue_id=0)).ext("offset") == str(len(expected[0]))
        cluster.broker().kill()
    with started(release, tmp_path) as (_, peer):
        assert held(peer, LIGHT) == expected
    shutil.rmtree(tmp_path / "broker-a" / "consumequeue")
    with started(release, tmp_path) as (_, peer):
        assert held(peer, LIGHT) == expected
        assert peer.call(send("T", properties={"INNER_MULTI_DISPATCH": LIGHT}), b"next").code == 0
        assert held(peer, LIGHT)[0][-1] == "next"
        assert peer.call(DeleteTopic(topic=LIGHT)).code == 0
        assert peer.call(pull(LIGHT, 0)).code == ResponseCode.PULL_NOT_FOUND
        assert peer.call(send("T", properties={"INNER_MULTI_DISPATCH": LIGHT}), b"anew").code == 0
        assert held(peer, LIGHT) == (["anew"], ["0"])


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_light_queues_and_groups_need_not_be_made_and_keep_their_offsets(release: str, tmp_path: Path) -> None:
    with started(release, tmp_path) as (_, peer):
        assert peer.call(pull(LIGHT, 0)).code == ResponseCode.PULL_NOT_FOUND
        assert "queueId[1] is illegal" in (peer.call(pull(LIGHT, 0, queue_id=1)).remark or "")
        for group in ("GC", "%LMQ%G"):
            commit = UpdateConsumerOffset(consumer_group=group, topic=LIGHT, queue_id=0, commit_offset=3)
            assert peer.call(commit).code == 0
    assert not (tmp_path / "broker-a" / "config" / "consumerOffset.json").exists()
    with started(release, tmp_path) as (_, peer):
        for group in ("GC", "%LMQ%G"):
            answer = peer.call(QueryConsumerOffset(consumer_group=group, topic=LIGHT, queue_id=0))
            assert (answer.code, answer.ext("offset")) == (0, "3")


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_without_the_settings_they_are_topics_like_any(release: str, tmp_path: Path) -> None:
    with started(release, tmp_path, enableLmq="false", enableMultiDispatch="false") as (_, peer):
        send_all(peer)
        assert peer.call(pull(LIGHT, 0)).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(("release", "switched"), [("4.9.8", {}), ("4.9.8", {"enableLmq": "false"}), ("5.3.3", {})])
def test_commands_find_nothing_wrong_with_the_store_and_know_its_offsets(
    release: str, switched: dict[str, str], tmp_path: Path, mqctl: Callable[..., Outcome]
) -> None:
    """4.9 fills further queues that are no light ones, too."""
    with started(release, tmp_path, **switched) as (_, peer):
        assert peer.call(UpdateAndCreateSubscriptionGroup(), b'{"groupName":"G"}').code == 0
        send_all(peer)
        for queue in ("T", LIGHT):
            commit = UpdateConsumerOffset(consumer_group="G", topic=queue, queue_id=0, commit_offset=3)
            assert peer.call(commit).code == 0
    words = ("--store", str(tmp_path / "broker-a"), "-o", "json")
    verified = mqctl("store", "verify", *words).json
    assert verified["deviations"] == [] and verified["summary"]["queue_entry_count"] > len(_SENT)
    assert not {item["code"] for item in mqctl("doctor", *words).json["findings"]} & {"MQ103", "MQ106", "MQ401"}
    committed = mqctl("group", "lag", "-g", "G", "--by", "queue", *words).json
    assert {(row["topic"], row["consumer_offset"]) for row in committed["queues"]} >= {("T", 3), (LIGHT, 3)}


def test_an_entry_in_a_queue_that_its_record_does_not_name_is_found(
    tmp_path: Path, mqctl: Callable[..., Outcome]
) -> None:
    with started("4.9.8", tmp_path) as (_, peer):
        send_all(peer)
    queues = tmp_path / "broker-a" / "consumequeue"
    (queues / "Plain").rename(queues / "Other")
    verified = mqctl("store", "verify", "--store", str(tmp_path / "broker-a"), "-o", "json").json
    assert [(item["code"], item["topic"]) for item in verified["deviations"]] == [("queue_entry_mismatch", "Other")]


def test_an_entry_in_a_light_queue_does_not_stand_for_that_of_its_own(
    tmp_path: Path, mqctl: Callable[..., Outcome]
) -> None:
    with started("5.3.3", tmp_path) as (_, peer):
        send_all(peer)
    shutil.rmtree(tmp_path / "broker-a" / "consumequeue" / "T")
    verified = mqctl("store", "verify", "--store", str(tmp_path / "broker-a"), "-o", "json").json
    assert sum(item["count"] for item in verified["deviations"] if item["topic"] == "T") == 7
