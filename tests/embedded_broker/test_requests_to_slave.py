"""What real slaves answered to each request, asked again of an embedded slave in the same state."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.fastjson import loads
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode
from mqctl.protocol.requests_admin import (
    GetAllConsumerOffset,
    GetAllDelayOffset,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_client import UpdateConsumerOffset
from mqctl.protocol.requests_pop import GetAllMessageRequestMode
from mqctl.protocol.requests_v5 import GetTimerMetrics
from tests.client.consuming import wait_until
from tests.embedded_broker.ha_streams import DIRECTORY, FILE_BYTES
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

TOPIC, GROUP, QUEUES = "TopicHA", "C_ha", 2
SHORT, LONG = b"x" * 30, b"x" * 330
COPIED_MS = 61_000
SETTINGS = {
    "mappedFileSizeCommitLog": str(FILE_BYTES), "slaveReadEnable": "true", "defaultTopicQueueNums": str(QUEUES),
}  # fmt: skip


FIRST_MINUTE = "5.3.3, first minute"


@pytest.fixture
def cluster(state: str) -> Iterator[EmbeddedCluster]:
    """A slave that has all of one log file, and in its first minute no tables (5.3.3), or its master's (4.9.8).

    In its second minute that of 5.3.3 came when its master was in the third file.
    """
    late = state == "5.3.3"
    with EmbeddedCluster(version=state[:5], slaves=1, virtual_time=True, settings=SETTINGS) as cluster:
        slave, master = cluster.broker("broker-a-s"), cluster.broker("broker-a")
        if late:
            slave.on_loop(_pause)
        with Peer(master.address) as peer:
            for number in range(600 if late else 203 * QUEUES):
                answer = peer.call(send(TOPIC, queue_id=number % QUEUES, queues=QUEUES), LONG if late else SHORT)
                assert answer.code == 0, answer.remark
            group = b'{"groupName":"%b","consumeEnable":true}' % GROUP.encode()
            assert peer.call(UpdateAndCreateSubscriptionGroup(), group).code == 0
            for queue_id in range(QUEUES if state == "4.9.8" else 1):
                commit = UpdateConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=queue_id, commit_offset=10)
                assert peer.call(commit).code == 0
        if late:
            slave.on_loop(_resume)
        end = master.on_loop(lambda broker: broker.storage.log.position)
        wait_until(lambda: _advanced(cluster) and slave.on_loop(lambda broker: broker.storage.log.position) == end)
        if state != FIRST_MINUTE:
            cluster.advance(COPIED_MS)
            wait_until(
                lambda: _advanced(cluster) and slave.on_loop(lambda broker: broker.offsets.query(GROUP, TOPIC, 0)) == 10
            )
        yield cluster


def _pause(broker: Broker) -> None:
    assert broker.replication.slave is not None
    broker.replication.slave.pause()


def _resume(broker: Broker) -> None:
    assert broker.replication.slave is not None
    broker.replication.slave.resume()


def _advanced(cluster: EmbeddedCluster) -> bool:
    cluster.advance(100)
    return True


def _command(text: str) -> RemotingCommand:
    (command,) = FrameDecoder().feed(base64.b64decode(text))
    return command


@pytest.mark.parametrize("state", ["4.9.8", "5.3.3", FIRST_MINUTE])
def test_a_slave_answers_as_the_real_one_did(cluster: EmbeddedCluster, state: str) -> None:
    recorded = json.loads(gzip.decompress((DIRECTORY / "requests-to-slave.json.gz").read_bytes()))
    differences = []
    with Peer(cluster.broker("broker-a-s").address) as peer:
        if state == FIRST_MINUTE:  # its first pull had made the group known
            assert peer.call(pull(TOPIC, 0, group=GROUP)).code == ResponseCode.TOPIC_NOT_EXIST
        for one in recorded[state]:
            request, then = _command(one["request"]), _command(one["answer"])
            request = _as_young(replace(request, opaque=peer.next_opaque()), state, cluster.now_ms())
            peer.socket.sendall(encode(request))
            now = peer.answer_to(request.opaque)
            if _seen(now) != _seen(then):
                differences.append((one["number"], RequestCode(request.code).name, _seen(then), _seen(now)))
    assert not differences, "\n".join(map(str, differences))


def _as_young(request: RemotingCommand, state: str, now_ms: int) -> RemotingCommand:
    """A pop that had waited too long in the second minute had not in the first."""
    ext = request.ext_fields or {}
    born = {"bornTime": str(now_ms)} if "bornTime" in ext and state == FIRST_MINUTE else {}
    return replace(request, ext_fields={**ext, **born})


def _seen(answer: RemotingCommand) -> tuple[object, ...]:
    """The code, the words without places and moments, the names of fields, and the form of the body."""
    words = re.sub(r"\d+(\.\d+)*(:\d+)?", "N", answer.remark or "")
    return answer.code, words, sorted(answer.ext_fields or {}), _form(answer.body)


def _form(body: bytes) -> object:
    if not body or body[:1] not in b"{[":
        return bool(body)
    value = loads(body)
    return sorted(map(str, value)) if isinstance(value, dict) else type(value).__name__


@pytest.mark.both_releases
@pytest.mark.parametrize("state", ["4.9.8", "5.3.3"])
def test_a_slave_has_its_masters_tables_with_their_versions(cluster: EmbeddedCluster) -> None:
    """A real slave of 5.3.3 keeps no offsets that come without a version."""
    tables = [GetAllTopicConfig(), GetAllConsumerOffset(), GetAllDelayOffset(), GetAllSubscriptionGroupConfig()]
    if cluster.spec.version == "5.3.3":
        tables += [GetAllMessageRequestMode(), GetTimerMetrics()]
    with Peer(cluster.broker("broker-a").address) as master, Peer(cluster.broker("broker-a-s").address) as slave:
        for request in tables:
            theirs, own = master.call(request), slave.call(request)
            assert theirs.code == own.code == 0
            assert _without_mapping_version(own.body) == _without_mapping_version(theirs.body), type(request).__name__


def _without_mapping_version(body: bytes) -> bytes:
    """Each broker has its own version of the mappings of static topics, of which there are none."""
    return re.sub(rb'"mappingDataVersion":\{[^}]*\},', b"", body)
