"""A topic that gets messages with every answer, and a group that pulls or pops them: what came between two answers is
no backlog and not ready; and a broker's own count of waiting records says whether the newest ones are all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.message import REAL_TOPIC, Message
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, TIMER_TOPIC, revive_topic
from mqctl.model.pop_share import PopShare
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.protocol.bodies_cluster import (
    BrokerData,
    ClusterInfo,
    ConsumerOffsetTable,
    KVTable,
    SubscriptionGroupTable,
    TopicConfigTable,
)
from mqctl.protocol.bodies_pop import POP, PULL, MessageRequestMode, MessageRequestModes
from mqctl.protocol.bodies_stats import TopicOffset, TopicStatsTable
from mqctl.protocol.body import Body
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.rules import diagnose
from mqctl.snapshot.live.gatherer import gather_live
from mqctl.snapshot.pop_records import PopLedger
from tests.client.wire_server import Peer, WireServer
from tests.rules.live_snapshots import HOUR, NOW

_SECOND = 1_000
_REFUSED = int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


@dataclass
class MovingQueue:
    """A broker of 5.x on which a group pulls or pops one queue; with every answer messages come and go.

    Attributes:
        grows: messages that come before each answer, again and again.
        unpopped: how many of the queue's messages the group has left before each answer.
        kept: how many messages retention leaves; the first of them is never beyond the group's offset.
    """

    grows: Sequence[int]
    unpopped: Sequence[int]
    mode: str = POP
    kept: int = 1 << 40
    end: int = 0
    popped: int = 0
    most_unpopped: int = 0
    _grows: cycle[int] = field(init=False)
    _unpopped: cycle[int] = field(init=False)
    progress_of: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._grows, self._unpopped = cycle(self.grows), cycle(self.unpopped)

    def share(self) -> PopShare:
        """Gathers what it tells of what the group pops."""
        (seen,) = self.look().brokers
        (share,) = seen.pop
        return share

    def look(self) -> ClusterSnapshot:
        """Gathers what it tells."""
        with WireServer(self._answer) as broker:
            self.address = broker.address
            with WireServer(self._answer) as name_server, Cluster(name_server.address) as client:
                return gather_live(client, Deadline(60_000), now_ms=NOW)

    def _answer(self, peer: Peer, command: RemotingCommand) -> None:
        self.end += next(self._grows)
        self.popped = max(self.popped, self.end - next(self._unpopped))
        self.most_unpopped = max(self.most_unpopped, self.end - self.popped)
        if command.code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET):
            is_end = command.code == RequestCode.GET_MAX_OFFSET and command.ext("topic") == "Pay"
            return peer.send(command.answer(0, ext_fields={"offset": str(self.end if is_end else 0)}))
        if command.code == RequestCode.QUERY_CONSUMER_OFFSET:
            self.progress_of.append(command.ext("topic") or "")
            return peer.send(command.answer(0, ext_fields={"offset": "0"}))
        body = self._told(command.code)
        return peer.send(command.answer(_REFUSED) if body is None else command.answer(0, body=body.to_bytes()))

    def _told(self, code: int) -> Body | None:
        data = BrokerData(broker_addrs={0: self.address}, broker_name="broker-a", cluster="C")
        topics = {
            name: TopicConfig(name=name, read_queue_count=1, write_queue_count=1)
            for name in ("Pay", TIMER_TOPIC, HALF_TOPIC, OP_TOPIC)
        }
        mode = MessageRequestMode(consumer_group="G", topic="Pay", mode=self.mode)
        first = max(0, min(self.popped, self.end - self.kept))
        ends = TopicOffset(last_update_timestamp=NOW, min_offset=first, max_offset=self.end)
        tables: dict[int, Body] = {
            RequestCode.GET_BROKER_CLUSTER_INFO: ClusterInfo(
                broker_addr_table={"broker-a": data}, cluster_addr_table={"C": ("broker-a",)}
            ),
            RequestCode.GET_BROKER_RUNTIME_INFO: KVTable(
                table={"brokerVersionDesc": "V5_5_0", "bootTimestamp": str(NOW - HOUR)}
            ),
            RequestCode.GET_ALL_TOPIC_CONFIG: TopicConfigTable(topic_config_table=topics),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: SubscriptionGroupTable(
                subscription_group_table={"G": SubscriptionGroupConfig(name="G")}
            ),
            RequestCode.GET_TOPIC_STATS_INFO: TopicStatsTable(offset_table={MessageQueue("Pay", "broker-a", 0): ends}),
            RequestCode.GET_ALL_CONSUMER_OFFSET: ConsumerOffsetTable(offset_table={"Pay@G": {0: self.popped}}),
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: MessageRequestModes(
                message_request_mode_map={"Pay": {"G": mode}}
            ),
        }
        return tables.get(code)


@settings(max_examples=15)
@given(
    grows=st.lists(st.one_of(st.just(0), st.integers(1, 20), st.integers(0, 5_000)), min_size=1, max_size=7),
    unpopped=st.lists(st.integers(0, 40), min_size=1, max_size=5),
)
@example(grows=[2_000], unpopped=[0])
def test_what_came_between_two_answers_is_not_ready(grows: list[int], unpopped: list[int]) -> None:
    world = MovingQueue(grows=grows, unpopped=unpopped)
    assert world.share().ready_count <= world.most_unpopped


@settings(max_examples=15)
@given(
    grows=st.lists(st.one_of(st.just(0), st.integers(1, 5_000)), min_size=1, max_size=7),
    unpopped=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    kept=st.integers(0, 10_000),
)
def test_messages_that_come_between_the_answers_make_no_backlog(
    grows: list[int], unpopped: list[int], kept: int
) -> None:
    """No offset is beyond its queue, before what retention left, or of a topic or group that is not there."""
    snapshot = MovingQueue(grows=grows, unpopped=unpopped, mode=PULL, kept=kept).look()
    assert [len(broker.queues) for broker in snapshot.brokers] == [1]
    diagnosis = diagnose(snapshot, only=("MQ201", "MQ402", "MQ403", "MQ404", "MQ407", "MQ601", "MQ604"))
    assert diagnosis.findings == ()


def test_the_check_loop_is_followed_among_ops_before_it_is_among_half_messages() -> None:
    """It moves both places at once: what it passes between the two answers is a half message that is not looked at, and
    never one whose end is not looked at."""
    world = MovingQueue(grows=[1], unpopped=[0])
    world.look()
    assert [topic for topic in world.progress_of if topic in (HALF_TOPIC, OP_TOPIC)] == [OP_TOPIC, HALF_TOPIC]


@settings(max_examples=5)
@given(waiting=st.integers(1, 5_000))
def test_what_nobody_pops_is_ready(waiting: int) -> None:
    """The same world at rest: a queue with messages that the group has not come to."""
    world = MovingQueue(grows=[waiting, *[0] * 10_000], unpopped=[waiting])
    assert world.share().ready_count == waiting


def _record(number: int, out_ms: int) -> Message:
    properties = {REAL_TOPIC: revive_topic("C"), "TIMER_OUT_MS": str(out_ms), "TAGS": "other"}
    return Message(
        topic=TIMER_TOPIC,
        queue_id=0,
        queue_offset=number,
        physical_offset=number,
        size_bytes=1,
        flag=0,
        sys_flag=0,
        born_time_ms=NOW,
        born_host="",
        store_time_ms=NOW,
        store_host="",
        reconsume_times=0,
        prepared_transaction_offset=0,
        body_crc=0,
        body=b"",
        properties=properties,
    )


@given(
    spans_s=st.lists(st.integers(5, 300), min_size=1, max_size=80),
    apart_ms=st.integers(1, 3_000),
    most=st.integers(1, 60),
    wheel_late_ms=st.integers(0, 1_000),
)
def test_the_newest_records_are_all_where_a_broker_counts_no_more(
    spans_s: list[int], apart_ms: int, most: int, wheel_late_ms: int
) -> None:
    """One that is older than those that were read and still waits is missed by no count."""
    stored = [NOW - (len(spans_s) - number) * apart_ms for number in range(len(spans_s))]
    out = [(at_ms + span_s * _SECOND) // _SECOND * _SECOND for at_ms, span_s in zip(stored, spans_s, strict=True)]
    in_wheel = [out_ms > NOW - wheel_late_ms for out_ms in out]
    first = max(0, len(out) - most)
    ledger = PopLedger(is_whole=False)
    for number in range(first, len(out)):
        ledger.take(_record(number, out[number]))
    counted = ledger.waiting_count(NOW)
    assert counted >= sum(in_wheel[first:])
    just_due = sum(NOW - 2 * _SECOND < out_ms <= NOW for out_ms in out[first:])
    if sum(in_wheel[:first]) > just_due:
        assert counted < sum(in_wheel)
