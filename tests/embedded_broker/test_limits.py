"""What a stranger may not do to a broker: lead it out of its directory, or have it remember without end."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.server import Limits
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_admin import CreateTopic
from mqctl.protocol.requests_client import ConsumerSendMsgBack, GetConsumerRunningInfo, GetMaxOffset
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer

OUT = ("../../../out", "a/../../../../out", "/out", "a/b", "a\0b")


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(data_dir=tmp_path / "data") as cluster:
        yield cluster


def strangers(root: Path) -> list[Path]:
    """Whatever lies beside the store's directory, and what has an odd name in it."""
    odd = [path for path in (root / "data").rglob("*") if path.name in ("out", "b")]
    return [path for path in root.iterdir() if path.name != "data"] + odd


@pytest.mark.parametrize("name", OUT)
def test_names_that_would_leave_the_store_are_refused(fresh: EmbeddedCluster, tmp_path: Path, name: str) -> None:
    create = CreateTopic(
        topic=name,
        default_topic="TBW102",
        read_queue_nums=1,
        write_queue_nums=1,
        perm=6,
        topic_filter_type="SINGLE_TAG",
    )
    with Peer(fresh.broker().address) as peer:
        assert peer.call(send(name), b"x").code == ResponseCode.SYSTEM_ERROR
        assert peer.call(send(f"%RETRY%{name}"), b"x").code == ResponseCode.SYSTEM_ERROR
        assert peer.call(create).code == ResponseCode.SYSTEM_ERROR
        # A group's name becomes that of its retry topic, which sends find known then.
        beat = heartbeat(peer, "c@1", group=name, subscriptions={"T": "*"})
        assert (beat.code, "no name for the directory" in (beat.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        assert peer.call(send(f"%RETRY%{name}"), b"x").code == ResponseCode.SYSTEM_ERROR
        stored = peer.call(send("T"), b"x")
        back = ConsumerSendMsgBack(
            offset=OffsetId.parse(stored.ext("msgId") or "").physical_offset, group=name, delay_level=0
        )
        assert peer.call(back).code == ResponseCode.SYSTEM_ERROR
        assert peer.call(back).code == ResponseCode.SYSTEM_ERROR
        assert peer.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "1"
    fresh.broker().stop()
    assert strangers(tmp_path) == []


def test_a_topic_file_that_would_leave_the_store_is_read_without_that_topic(
    fresh: EmbeddedCluster, tmp_path: Path
) -> None:
    with Peer(fresh.broker().address) as peer:
        assert peer.call(send("T"), b"x").code == 0
    fresh.broker().stop()
    file = fresh.broker().store / "config" / "topics.json"
    file.write_text(file.read_text().replace('"T"', '"../../../out"'))
    shutil.copy(file, file.with_name("topics.json.bak"))
    fresh.broker().start()
    with Peer(fresh.broker().address) as peer:
        assert peer.call(send("../../../out"), b"x").code == ResponseCode.SYSTEM_ERROR
        assert peer.call(send("T"), b"x").code == 0
    fresh.broker().stop()
    assert strangers(tmp_path) == []


def test_more_held_pulls_than_the_limit_are_answered_at_once() -> None:
    limits = Limits(held_pulls=3)
    with (
        EmbeddedCluster(limits=limits, virtual_time=True) as cluster,
        Peer(cluster.broker().address) as peer,
        Peer(cluster.broker().address) as producer,
    ):
        assert producer.call(send("T", queue_id=1), b"x").code == 0
        waiting = [peer.post(pull("T", 0, wait_ms=15_000)) for _ in range(3)]
        late = peer.call(pull("T", 0, wait_ms=15_000))
        assert late.code == ResponseCode.PULL_NOT_FOUND
        assert producer.call(send("T"), b"y").code == 0
        assert [peer.answer_to(opaque).code for opaque in waiting] == [0, 0, 0]
        again = peer.post(pull("T", 1, wait_ms=15_000))
        assert producer.call(send("T"), b"z").code == 0
        assert peer.answer_to(again).code == 0


def test_a_client_that_does_not_answer_is_asked_no_more_than_the_limit() -> None:
    with (
        EmbeddedCluster(limits=Limits(asked=2), virtual_time=True) as cluster,
        Peer(cluster.broker().address) as silent,
        Peer(cluster.broker().address) as asker,
    ):
        heartbeat(silent, "silent", group="G", subscriptions={"T": "*"})
        question = GetConsumerRunningInfo(consumer_group="G", client_id="silent", jstack_enable=False)
        waiting = [asker.post(question) for _ in range(2)]
        assert asker.call(question).code == ResponseCode.CONSUME_MSG_TIMEOUT
        cluster.advance(11_000)
        assert {asker.answer_to(opaque).code for opaque in waiting} == {ResponseCode.CONSUME_MSG_TIMEOUT}
        waiting = [asker.post(question) for _ in range(2)]  # there is room again
        assert asker.call(question).code == ResponseCode.CONSUME_MSG_TIMEOUT
        silent.call(GetMaxOffset(topic="T", queue_id=0))
        assert (
            len([request for request in silent.unasked if request.code == RequestCode.GET_CONSUMER_RUNNING_INFO]) == 4
        )


_ASKED = 3_000
_BUFFERED_KIB = 64 * 1024


def test_answers_that_nobody_reads_do_not_pile_up() -> None:
    """A few hundred bytes ask for a quarter of a megabyte: whoever reads no answers gets no further ones made."""
    with process() as (running, ready):
        address = ready["brokers"][0]["address"]
        with Peer(address) as peer:
            for _ in range(8):
                assert peer.call(send("T"), b"x" * 100_000).code == 0
            before = psutil.Process(running.pid).memory_info().rss
            request = pull("T", 0, group="G")
            opaques = [peer.next_opaque() for _ in range(_ASKED)]
            frames = b"".join(encode(request.command(opaque=opaque, version=peer.version)) for opaque in opaques)
            writer = threading.Thread(target=peer.socket.sendall, args=(frames,))
            writer.start()
            most = before
            with Peer(address) as other:
                for _ in range(20):  # each answer comes after what the first one asked for was taken
                    assert other.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "8"
                    most = max(most, psutil.Process(running.pid).memory_info().rss)
            assert (most - before) // 1024 < _BUFFERED_KIB
            for opaque in opaques:
                answer = peer.answer_to(opaque)
                assert (answer.code, len(answer.body) > 200_000) == (0, True)
            writer.join()
