"""What servers tell of themselves has the words of recorded answers: every key, every property, every average."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.settings import BrokerSettings
from embedded_broker.told_properties import told_properties
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.properties import parse_settings
from mqctl.protocol.requests_admin import (
    GetBrokerConfig,
    GetBrokerRuntimeInfo,
    GetProducerConnectionList,
    UpdateBrokerConfig,
)
from mqctl.protocol.requests_namesrv import GetNamesrvConfig, GetRouteInfo
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.test_recorded_requests import recording
from tests.embedded_broker.test_users import recorded_access
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.both_releases

RELEASES = pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
_OF_THE_MOMENT = ("scheduleMessageOffset_", "commitLogDiskRatio_")
_SET_THERE = {"bindAddress", "flushDelayOffsetInterval", "mapperFileSizeBatchConsumeQueue"}
"""Properties that the recording broker's own file set, and of which the default is known otherwise."""
_SET_BY_FILE = {
    "4.9.8": "enableCalcFilterBitMap enableConsumeQueueExt enablePropertyFilter fileReservedTime"
    " mappedFileSizeCommitLog"
    " mappedFileSizeConsumeQueueExt traceTopicEnable transactionCheckInterval transactionTimeOut",
    "5.3.3": "authenticationEnabled authenticationMetadataProvider authorizationEnabled authorizationMetadataProvider"
    " diskMaxUsedSpaceRatio enablePropertyFilter flushConsumerOffsetInterval mappedFileSizeCommitLog"
    " mappedFileSizeConsumeQueue mappedFileSizeTimerLog maxHashSlotNum maxIndexNum recallMessageEnable"
    " traceTopicEnable transactionCheckInterval",
}
"""Properties that are heeded here, and that the recording broker's own file, or a change before, set otherwise."""
_OF_THE_PLACE = {
    "brokerIP1", "haListenPort", "listenPort", "namesrvAddr", "rocketmqHome", "storePathCommitLog", "storePathRootDir"
}  # fmt: skip
_OWN_CHOICE = {"diskSpaceCleanForciblyRatio", "diskSpaceWarningLevelRatio"}
"""Off: somebody's full disk is no reason to refuse sends. In 4.9.8 they are no properties of a broker."""


def _recorded(version: str, code: int) -> RemotingCommand:
    if (version, code) == ("5.3.3", 26):
        return next(item.answer for item in recorded_access() if item.request.code == code)
    answers = recording(version).answers
    return next(
        answer for (code_asked, _, got), answer in answers.items() if (code_asked, got) == (code, 0) and answer.body
    )


@RELEASES
def test_runtime_information_has_the_recorded_keys(version: str) -> None:
    with EmbeddedCluster(version=version) as cluster, Peer(cluster.broker().address) as peer:
        table = KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table
        paths = [name for name in table if name.startswith("commitLogDiskRatio_")]
        assert paths == [f"commitLogDiskRatio_{cluster.broker().store}/commitlog"]
    known = KVTable.from_bytes(_recorded(version, 28).body).table
    plain = {name for name in known if not name.startswith(_OF_THE_MOMENT)}
    assert {name for name in table if not name.startswith(_OF_THE_MOMENT)} == plain


@RELEASES
def test_properties_are_those_of_the_release_with_its_defaults(version: str) -> None:
    known = parse_settings(_recorded(version, 26).body)
    with EmbeddedCluster(version=version) as cluster, Peer(cluster.broker().address) as peer:
        properties = parse_settings(peer.call(GetBrokerConfig()).body)
        plain = BrokerSettings().properties()
        assert {name for name in known.keys() - properties.keys() if plain.get(name) != ""} == set()  # null is not told
        assert "maxTransferCountOnMessageInMemory" in BrokerSettings().properties()
        unused = {name for name, value in told_properties(is_v5=version == "5.3.3").items() if value is not None}
        assert {name for name in unused - _SET_THERE if properties[name] != known[name]} == set()
        other = {name for name in properties.keys() - unused if properties[name] != known[name]}
        aside = _OF_THE_PLACE | (_OWN_CHOICE if version == "5.3.3" else set())
        assert other - aside == set(_SET_BY_FILE[version].split())
        assert peer.call(UpdateBrokerConfig(), b"waitTimeMillsInPullQueue=7000\nnoSuchProperty=1").code == 0
        changed = parse_settings(peer.call(GetBrokerConfig()).body)
        assert changed["waitTimeMillsInPullQueue"] == "7000"
        assert "noSuchProperty" not in changed


@RELEASES
def test_a_name_server_tells_every_property_and_routes_in_its_own_form(version: str) -> None:
    with EmbeddedCluster(version=version) as cluster:
        with Peer(cluster.namesrv) as peer:
            properties = parse_settings(peer.call(GetNamesrvConfig()).body)
        with Peer(cluster.namesrv, serialize_type=SerializeType.ROCKETMQ) as peer:
            forms = [peer.call(GetRouteInfo(topic=topic)).serialize_type for topic in ("TBW102", "none")]
    recorded = recording(version).answers
    bodies = [answer.body for (code_asked, _, got), answer in recorded.items() if (code_asked, got) == (319, 0)]
    assert bodies
    assert parse_settings(bodies[0]).keys() == properties.keys()
    assert set(forms) == {SerializeType.JSON if version == "5.3.3" else SerializeType.ROCKETMQ}


def test_rates_are_told_as_three_averages_once_the_broker_is_old_enough() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster:
        averages = []
        for stored, wait_ms in enumerate((0, 10_000, 50_000, 540_000)):
            cluster.advance(wait_ms)
            with Peer(cluster.broker().address) as peer:
                table = KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table
                averages.append([part for part in table["putTps"].split(" ") if part])
                for _ in range(6):
                    assert peer.call(send("T"), b"x").code == 0
                peer.call(pull("T", 0))
                peer.call(pull("T", 6 * (stored + 1)))
        assert averages == [[], ["0.6"], ["0.0", "0.2"], ["0.0", "0.0", "0.03"]]
        assert table["getMissTps"].split(" ")[2] == table["getFoundTps"].split(" ")[2] == "0.005"
        assert "[<=0ms]:0 [0~10ms]:0 " in table["putMessageDistributeTime"]


@pytest.mark.long
def test_totals_of_the_day_turn_over_at_midnight() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster:
        for _ in range(2):
            with Peer(cluster.broker().address) as peer:
                assert peer.call(send("T"), b"x").code == 0
            cluster.advance(24 * 3_600_000)
        with Peer(cluster.broker().address) as peer:
            table = KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table
    names = ("msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning", "msgPutTotalTodayNow")
    assert [table[name] for name in names] == ["1", "2", "2"]


@RELEASES
def test_a_producer_group_whose_connection_broke_stays_empty_as_4_9_8_has_it(version: str) -> None:
    with EmbeddedCluster(version=version) as cluster:
        with Peer(cluster.broker().address) as producer:
            assert heartbeat(producer, "one").code == 0
        with Peer(cluster.broker().address) as peer:
            codes = {peer.call(GetProducerConnectionList(producer_group=group)).code for group in ("GP", "GP")}
            assert codes == ({1} if version == "5.3.3" else {0})


def test_more_than_32_messages_come_where_the_broker_is_set_so() -> None:
    settings = {"maxTransferCountOnMessageInMemory": "40"}
    with EmbeddedCluster(settings=settings) as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(50):
            assert peer.call(send("T"), b"x").code == 0
        answer = peer.call(pull("T", 0, count=64))
        assert (answer.ext_fields or {})["nextBeginOffset"] == "40"
