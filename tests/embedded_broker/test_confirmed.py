"""With SYNC_FLUSH a change by administration is on the disk when it is answered, or it is an error and none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.header import Request
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteSubscriptionGroup,
    DeleteTopic,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_client import QueryConsumerOffset, UpdateConsumerOffset
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

GROUP = dump_bytes({"groupName": "GNew", "retryQueueNums": 3})
State = Callable[[EmbeddedCluster], object]


@pytest.fixture
def synced(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(data_dir=tmp_path, settings={"flushDiskType": "SYNC_FLUSH"}) as cluster:
        with Peer(cluster.broker().address) as peer:
            assert peer.call(_topic("Old")).code == 0
            assert peer.call(UpdateAndCreateSubscriptionGroup(), GROUP.replace(b"GNew", b"GOld")).code == 0
            assert peer.call(send("Old"), b"x").code == 0
            assert peer.call(_commit(1)).code == 0
        yield cluster


def _topic(name: str) -> CreateTopic:
    return CreateTopic(
        topic=name, default_topic="TBW102", read_queue_nums=1, write_queue_nums=1, perm=6,
        topic_filter_type="SINGLE_TAG",
    )  # fmt: skip


def _commit(offset: int) -> UpdateConsumerOffset:
    return UpdateConsumerOffset(consumer_group="GOld", topic="Old", queue_id=0, commit_offset=offset)


def _topics(cluster: EmbeddedCluster) -> object:
    return cluster.broker().on_loop(lambda broker: ({*broker.topics.configs}, broker.topics.version.counter))


def _groups(cluster: EmbeddedCluster) -> object:
    return cluster.broker().on_loop(lambda broker: ({*broker.groups.configs}, broker.groups.version.counter))


def _offset(cluster: EmbeddedCluster) -> object:
    with Peer(cluster.broker().address) as peer:
        return peer.call(QueryConsumerOffset(consumer_group="GOld", topic="Old", queue_id=0)).ext("offset")


CHANGES: list[tuple[str, Request, bytes, State]] = [
    ("topics.json", _topic("New"), b"", _topics),
    ("topics.json", DeleteTopic(topic="Old"), b"", _topics),
    ("subscriptionGroup.json", UpdateAndCreateSubscriptionGroup(), GROUP, _groups),
    ("subscriptionGroup.json", DeleteSubscriptionGroup(group_name="GOld"), b"", _groups),
    ("consumerOffset.json", _commit(7), b"", _offset),
]


@pytest.mark.parametrize(("file", "request_", "body", "state"), CHANGES)
def test_what_was_answered_survives_a_kill(
    synced: EmbeddedCluster, file: str, request_: Request, body: bytes, state: State
) -> None:
    before = state(synced)
    with Peer(synced.broker().address) as peer:
        assert peer.call(request_, body).code == 0
    changed = state(synced)
    assert changed != before
    synced.broker().kill()
    synced.broker().start()
    assert state(synced) == changed


@pytest.mark.parametrize(("file", "request_", "body", "state"), CHANGES)
def test_what_cannot_be_written_is_an_error_and_no_change(
    synced: EmbeddedCluster, file: str, request_: Request, body: bytes, state: State
) -> None:
    before = state(synced)
    config = synced.broker().store / "config"
    away = config.rename(config.with_name("away"))
    config.touch()  # a file where the directory was
    with Peer(synced.broker().address) as peer:
        answer = peer.call(request_, body)
        assert (answer.code, file in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        assert state(synced) == before
        config.unlink()
        away.rename(config)
        assert peer.call(request_, body).code == 0
    assert state(synced) != before
