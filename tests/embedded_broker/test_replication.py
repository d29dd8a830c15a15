"""Masters and slaves of embedded clusters: what is copied, what is waited for, what a slave answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from embedded_broker import EmbeddedBroker, EmbeddedCluster
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.bodies_ha import HaRuntimeInfo
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteSubscriptionGroup,
    DeleteTopic,
    GetBrokerRuntimeInfo,
    UpdateBrokerConfig,
)
from mqctl.protocol.requests_client import (
    ConsumerSendMsgBack,
    EndTransaction,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_namesrv import GetBrokerMemberGroup, GetRouteInfo
from mqctl.protocol.requests_v5 import GetBrokerHaStatus
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.both_releases

SCALE = 50.0
SECONDS = 30.0


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def pair(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A master and a slave that has everything so far, with topic T and group G."""
    settings = {"mappedFileSizeCommitLog": "131072", "flushConsumerOffsetInterval": "1000"}
    with EmbeddedCluster(version=request.param, slaves=1, time_scale=SCALE, settings=settings) as cluster:
        with Peer(master(cluster).address) as peer:
            for number in range(5):
                assert peer.call(send("T"), f"body {number}".encode()).code == 0
            assert peer.call(pull("T", 0, group="G")).code == 0
            assert peer.call(commit(3)).code == 0
        wait_until(lambda: ends(cluster)[0] == ends(cluster)[1] > 0)
        wait_until(lambda: slave(cluster).on_loop(lambda broker: broker.offsets.query("G", "T", 0)) == 3)
        yield cluster


def master(cluster: EmbeddedCluster) -> EmbeddedBroker:
    return cluster.broker("broker-a")


def slave(cluster: EmbeddedCluster) -> EmbeddedBroker:
    return cluster.broker("broker-a-s")


def ends(cluster: EmbeddedCluster) -> list[int]:
    return [one.on_loop(lambda broker: broker.storage.log.position) for one in (master(cluster), slave(cluster))]


def commit(offset: int, group: str = "G") -> UpdateConsumerOffset:
    return UpdateConsumerOffset(consumer_group=group, topic="T", queue_id=0, commit_offset=offset)


def ext(answer: RemotingCommand) -> Mapping[str, str]:
    return answer.ext_fields or {}


def is_v5(cluster: EmbeddedCluster) -> bool:
    return cluster.spec.version == "5.3.3"


def test_routes_name_both_and_the_log_is_the_same_byte_for_byte(pair: EmbeddedCluster) -> None:
    with Peer(pair.namesrv) as namesrv:
        route = namesrv.call(GetRouteInfo(topic="T")).body.decode()
    addresses = {"0": master(pair).address, "1": slave(pair).address}
    assert all(
        f'"{number}":"{address}"' in route or f'{number}:"{address}"' in route for number, address in addresses.items()
    )
    logs = [one.on_loop(lambda broker: broker.storage.log.read(0, 100_000)) for one in (master(pair), slave(pair))]
    assert logs[0] == logs[1]


def test_the_members_of_a_broker_name_are_told_as_recorded(pair: EmbeddedCluster) -> None:
    if not is_v5(pair):
        pytest.skip("4.9 does not know the request")
    form = b'{"brokerMemberGroup":{"brokerAddrs":{%b},"brokerName":"%b","cluster":"DefaultCluster"}}'
    here = f'0:"{master(pair).address}",1:"{slave(pair).address}"'.encode()
    with Peer(pair.namesrv) as namesrv:
        for name, addresses in ((b"broker-a", here), (b"none", b"")):
            answer = namesrv.call(GetBrokerMemberGroup(cluster_name="DefaultCluster", broker_name=name.decode()))
            assert (answer.code, answer.body) == (0, form % (addresses, name))
        assert namesrv.call(GetBrokerMemberGroup()).body == b'{"brokerMemberGroup":{"brokerAddrs":{}}}'


def test_the_slave_delivers_what_the_master_has_and_says_so(pair: EmbeddedCluster) -> None:
    with Peer(slave(pair).address) as peer:
        answer = peer.call(pull("T", 2, group="G"))
        assert (answer.code, ext(answer)["nextBeginOffset"], ext(answer)["maxOffset"]) == (0, "5", "5")
        assert b"body 2" in answer.body and b"body 1" not in answer.body


def test_pulls_beside_the_queue_move_nobody(pair: EmbeddedCluster) -> None:
    with Peer(slave(pair).address) as peer:
        for offset in (99_999, -7):
            answer = peer.call(pull("T", offset, group="G"))
            assert (answer.code, ext(answer)["nextBeginOffset"]) == (20, str(offset))
        at_the_end = peer.call(pull("T", 5, group="G"))
        assert at_the_end.code == (20 if is_v5(pair) else 19)


def test_what_would_change_a_slave_is_refused_in_the_words_of_its_release(pair: EmbeddedCluster) -> None:
    five = is_v5(pair)
    busy = (2, "[REJECTREQUEST]system busy, start flow control for a while")
    with Peer(slave(pair).address) as peer:
        sent = peer.call(send("T"), b"x")
        if five:
            assert (sent.code, sent.remark) == busy
        else:
            assert sent.code == 14 and str(sent.remark).startswith("service not available now.")
        back = peer.call(ConsumerSendMsgBack(offset=0, group="G", delay_level=0, origin_topic="T"))
        assert (back.code, back.remark) == (busy if five else (1, "SERVICE_NOT_AVAILABLE"))
        ended = peer.call(
            EndTransaction(
                producer_group="P", tran_state_table_offset=0, commit_log_offset=0, commit_or_rollback=8, msg_id="m"
            )
        )
        assert (ended.code, ended.remark) == (11, "not set any response code")
        for request in (DeleteTopic(topic="none"), DeleteSubscriptionGroup(group_name="none")):
            answer = peer.call(request)
            if five:
                assert answer.code == 0
            else:
                assert (answer.code, answer.remark) == (
                    1,
                    "Can't modify topic or subscription group from slave broker, please execute it from master broker.",
                )


def test_5x_takes_a_topic_on_its_slave_and_loses_it_at_the_next_copy(pair: EmbeddedCluster) -> None:
    if not is_v5(pair):
        pytest.skip("4.9 refuses it")
    with Peer(slave(pair).address) as peer, Peer(master(pair).address) as other:
        own = CreateTopic(
            topic="OnlyHere", default_topic="TBW102", read_queue_nums=1, write_queue_nums=1, perm=6,
            topic_filter_type="SINGLE_TAG", topic_sys_flag=0, order=False,
        )  # fmt: skip
        assert peer.call(own).code == 0
        assert other.call(send("Another"), b"x").code == 0  # so that the versions differ
        wait_until(lambda: slave(pair).on_loop(lambda broker: broker.topics.find("OnlyHere")) is None)
        assert slave(pair).on_loop(lambda broker: broker.topics.find("Another")) is not None


def test_a_commit_on_the_slave_is_overwritten_by_the_master_unless_it_has_none(pair: EmbeddedCluster) -> None:
    with Peer(slave(pair).address) as peer:
        if is_v5(pair):
            slave(pair).on_loop(lambda broker: broker.groups.find_or_create("OwnOfSlave"))
        assert peer.call(commit(1)).code == 0
        assert peer.call(commit(4, "OwnOfSlave")).code == 0
        wait_until(lambda: slave(pair).on_loop(lambda broker: broker.offsets.query("G", "T", 0)) == 3)
        kept = peer.call(QueryConsumerOffset(consumer_group="OwnOfSlave", topic="T", queue_id=0))
        assert ext(kept)["offset"] == "4"


def test_907_tells_what_both_sides_know(pair: EmbeddedCluster) -> None:
    if not is_v5(pair):
        pytest.skip("4.9 has no request about replication")
    end = ends(pair)[0]
    with Peer(master(pair).address) as of_master, Peer(slave(pair).address) as of_slave:
        seen = HaRuntimeInfo.from_bytes(of_master.call(GetBrokerHaStatus()).body)
        assert seen.master and seen.in_sync_slave_nums == 1 and seen.master_commit_log_max_offset == end
        (connection,) = seen.ha_connection_info
        assert (connection.diff, connection.in_sync, connection.slave_ack_offset) == (0, True, end)
        own = HaRuntimeInfo.from_bytes(of_slave.call(GetBrokerHaStatus()).body)
        assert not own.master and own.ha_client_runtime_info is not None
        assert own.ha_client_runtime_info.max_offset == end
        port = master(pair).on_loop(lambda broker: broker.settings.ha_listen_port)
        assert own.ha_client_runtime_info.master_addr == f"127.0.0.1:{port}"


def test_the_slave_goes_on_across_files_and_both_stores_verify(pair: EmbeddedCluster) -> None:
    with Peer(master(pair).address) as peer:
        for _ in range(40):
            assert peer.call(send("T"), b"y" * 8_000).code == 0
    wait_until(lambda: ends(pair)[0] == ends(pair)[1] > 2 * 131_072)
    with Peer(slave(pair).address) as peer:
        answer = peer.call(GetBrokerRuntimeInfo())
        assert KVTable.from_bytes(answer.body).table["dispatchBehindBytes"] == "0"
    files = [sorted(file.name for file in (one.store / "commitlog").iterdir()) for one in (master(pair), slave(pair))]
    assert files[0] == files[1] and len(files[0]) == 3
    for name in files[0]:
        assert len({(one.store / "commitlog" / name).read_bytes() for one in (master(pair), slave(pair))}) == 1


def test_sync_sends_wait_for_slaves_as_each_release_does(pair: EmbeddedCluster) -> None:
    five = is_v5(pair)
    with Peer(master(pair).address) as peer:
        for changes in ({"brokerRole": "SYNC_MASTER"}, {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}):
            words = "\n".join(f"{name}={value}" for name, value in changes.items())
            assert peer.call(UpdateBrokerConfig(), words.encode()).code == 0
            assert peer.call(send("T"), b"with a slave").code == 0
            assert ends(pair)[0] == ends(pair)[1] or (five and "inSyncReplicas" not in changes)
        slave(pair).kill()
        alone = peer.call(send("T"), b"without one")
        assert alone.code == (12 if five else 11)
        assert ext(alone)["msgId"]  # it is stored all the same
        assert peer.call(send("T", properties={"WAIT": "false"}), b"does not care").code in (0, alone.code)
        slave(pair).start()
        wait_until(lambda: ends(pair)[0] == ends(pair)[1])
        assert peer.call(send("T"), b"with a slave again").code == 0
        assert peer.call(UpdateBrokerConfig(), b"brokerRole=ASYNC_MASTER").code == 0


def test_a_lost_master_leaves_the_slave_for_readers_and_its_offsets_win_when_it_is_back(pair: EmbeddedCluster) -> None:
    count = master(pair).on_loop(lambda broker: broker.storage.max_offset("T", 0))
    wait_until(lambda: slave(pair).on_loop(lambda broker: broker.storage.max_offset("T", 0)) == count)
    with Peer(master(pair).address) as peer:
        assert peer.call(commit(3)).code == 0
    master(pair).stop()
    with Peer(pair.namesrv) as namesrv:
        route = namesrv.call(GetRouteInfo(topic="T")).body.decode()
        assert slave(pair).address in route and '"brokerName":"broker-a"' in route
        assert '0:"' not in route and '"0":"' not in route
    with Peer(slave(pair).address) as peer:
        assert peer.call(pull("T", 4, group="G")).code == 0
        assert peer.call(commit(5)).code == 0
    master(pair).start()
    wait_until(lambda: slave(pair).on_loop(lambda broker: broker.offsets.query("G", "T", 0)) == 3)
    with Peer(master(pair).address) as peer:
        assert peer.call(send("T"), b"after the return").code == 0
    wait_until(lambda: ends(pair)[0] == ends(pair)[1])
