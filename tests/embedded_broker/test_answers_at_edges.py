"""Figures at each edge of a queue, and an answer for each way in which a request can end: of both releases."""

from __future__ import annotations

from datetime import datetime
from itertools import product

import pytest

from mqctl.protocol.bodies_client import ClientConfigCheck, SubscriptionData
from mqctl.protocol.bodies_stats import (
    BrokerConsumeStats,
    ConsumeStats,
    ConsumeTimeSpan,
    ConsumeTimeSpans,
    OffsetWrapper,
)
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import GetConsumeStats, GetConsumeStatsInBroker, QueryConsumeTimeSpan
from mqctl.protocol.requests_client import CheckClientConfig, ReplyMessage, SendMessageV2, SendReplyMessageV2
from mqctl.protocol.requests_pop import PopMessage
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.sides import Side
from tests.embedded_broker.test_release_corners import topic
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.both_releases

COUNT = 5
OFFSETS = (None, 0, 1, 2, COUNT - 1, COUNT, COUNT + 1)
"""Committed: none yet, at each edge of the queue, and one behind it."""


def timed(side: Side, name: str = "Timed", **changes: object) -> list[int]:
    """Makes a topic whose first queue has messages of different milliseconds, and returns their store times."""
    assert side.peer.call(topic(name, **changes)).code == 0
    times_ms = []
    for number in range(COUNT):
        side.cluster.advance(1_007 * (number + 1))
        times_ms.append(side.cluster.now_ms())
        assert side.peer.call(send(name), b"%d" % number).code == 0
    side.cluster.advance(61_003)
    messages = decode_messages(side.peer.call(pull(name, 0, group="Other")).body)
    assert [message.store_time_ms for message in messages] == times_ms
    return times_ms


def local(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms // 1_000):%Y-%m-%d#%H:%M:%S}:{time_ms % 1_000:03}"


def spans(side: Side, name: str) -> dict[int, ConsumeTimeSpan]:
    body = side.peer.call(QueryConsumeTimeSpan(topic=name, group="G")).body
    return {item.message_queue.queue_id: item for item in ConsumeTimeSpans.from_bytes(body).consume_time_span_set}


def test_times_of_a_queue_at_each_offset(side: Side) -> None:
    times_ms = timed(side)
    for offset in OFFSETS:
        if offset is not None:
            assert side.commit(offset, topic="Timed") == 0
        span = spans(side, "Timed")[0]
        at = {-1: -1, **dict(enumerate(times_ms))}
        consumed_ms = at.get(offset - 1, -1) if offset else times_ms[0]
        delay_ms = side.cluster.now_ms() - at[-1 if offset is None else offset] if (offset or 0) < COUNT else 0
        assert (span.min_time_stamp, span.max_time_stamp) == (times_ms[0], times_ms[-1])
        assert (span.consume_time_stamp, span.delay_time) == (consumed_ms, delay_ms), offset
        assert (span.min_time_stamp_str, span.max_time_stamp_str) == (local(times_ms[0]), local(times_ms[-1]))
        assert span.consume_time_stamp_str == local(consumed_ms)
        empty = spans(side, "Timed")[1]
        assert (empty.min_time_stamp, empty.max_time_stamp, empty.consume_time_stamp) == (-1, -1, -1)


def progress(side: Side, name: str) -> OffsetWrapper:
    stats = ConsumeStats.from_bytes(side.peer.call(GetConsumeStats(consumer_group="G", topic=name)).body)
    return next(entry for queue, entry in stats.offset_table.items() if queue.queue_id == 0)


def test_progress_on_a_queue_at_each_offset_committed_and_pulled(side: Side) -> None:
    times_ms = timed(side)
    for committed, pulled in product(OFFSETS, (None, 0, 2, COUNT - 1)):
        if committed is not None:
            assert side.commit(committed, topic="Timed") == 0
        if pulled is not None:
            assert side.peer.call(pull("Timed", pulled, group="G", count=1)).code == 0
        offset = committed or 0
        entry = progress(side, "Timed")
        last_ms = times_ms[offset - 1] if 0 < offset <= COUNT else 0
        assert (entry.broker_offset, entry.consumer_offset, entry.last_timestamp) == (COUNT, offset, last_ms)
        if not side.is_v5:
            assert entry.pull_offset is None
        elif pulled is not None:
            assert entry.pull_offset == max(offset, pulled + 1), (committed, pulled)


def test_progress_of_all_groups_is_the_sum_of_their_queues(side: Side) -> None:
    """Totals are those of the listed queues; a negative one in flight is 5.x's own."""
    timed(side, "Ordered", order=True)
    timed(side, "Free")
    for ordered, free in ((0, 0), (1, 3), (COUNT, COUNT), (COUNT + 1, 2)):
        assert side.commit(ordered, topic="Ordered") == 0
        assert side.commit(free, topic="Free") == 0
        in_order = {"Ordered": ordered} if side.is_v5 else {}  # 4.9 makes no topic of that kind by this request
        for is_order, committed in ((False, {"Ordered": ordered, "Free": free}), (True, in_order)):
            whole = BrokerConsumeStats.from_bytes(side.peer.call(GetConsumeStatsInBroker(is_order=is_order)).body)
            tables = [table for item in whole.consume_stats_list for table in item.get("G", ())]
            entries = {
                (queue.topic, queue.queue_id): entry for table in tables for queue, entry in table.offset_table.items()
            }
            assert {name: entries[name, 0].consumer_offset for name in committed} == committed
            assert {name for name, _ in entries} == set(committed)
            differences = [entry.broker_offset - entry.consumer_offset for entry in entries.values()]
            assert whole.total_diff == sum(differences)
            in_flight = sum((entry.pull_offset or 0) - entry.consumer_offset for entry in entries.values())
            assert whole.total_inflight_diff == (in_flight if side.is_v5 else None)


def test_topics_of_a_group_are_those_its_members_subscribe_or_pop(side: Side) -> None:
    for name in ("Timed", "Popped", "Left"):
        timed(side, name)
        assert side.commit(1, topic=name) == 0
    ask = GetConsumeStats(consumer_group="G", topic=None)

    def topics() -> set[str]:
        return {queue.topic for queue in ConsumeStats.from_bytes(side.peer.call(ask).body).offset_table}

    assert topics() >= {"Timed", "Popped", "Left"}
    assert heartbeat(side.peer, "one", group="G", subscriptions={"Timed": "*"}).code == 0
    assert topics() == {"Timed"}
    if side.is_v5:
        pop = PopMessage(consumer_group="G", topic="Popped", queue_id=-1, max_msg_nums=1, invisible_time=60_000)
        assert side.peer.call(pop).code == 0
        assert topics() == {"Timed", "Popped"}, "who pops a topic subscribes to it"


# Replies


REPLIES = "DefaultCluster_REPLY_TOPIC"


def reply(properties: str) -> SendReplyMessageV2:
    """A reply no two of whose numbers are equal."""
    values = {item.name: getattr(send(REPLIES), item.name) for item in SendMessageV2.fields()}
    values |= {"properties": properties, "flag": 5, "sys_flag": 8, "reconsume_times": 3, "queue_id": 0}
    return SendReplyMessageV2(**values)


def stored_replies(side: Side) -> list[bytes]:
    answer = side.peer.call(pull(REPLIES, 0, group="G"))
    return [message.body for message in decode_messages(answer.body)] if answer.code == 0 else []


def test_a_reply_ends_as_its_push_does_whatever_it_is_answered(side: Side) -> None:
    to_asker = "REPLY_TO_CLIENT\x01asker\x02"
    refused = "push reply message to askerfail."
    ends = [
        (to_asker, ResponseCode.SUCCESS, None),
        *((to_asker, code, refused) for code in ResponseCode if code != ResponseCode.SUCCESS),
        (to_asker, "silent", refused),
        ("A\x01b", None, "reply message properties[REPLY_TO_CLIENT] is null"),
        ("REPLY_TO_CLIENT\x01nobody", None, "push reply message fail, channel of <nobody> not found."),
        (to_asker, "gone", refused),
    ]
    stored = 0
    for kept in (True, False):
        side.set(storeReplyMessageEnable=str(kept).lower())
        with Peer(side.cluster.broker().address, version=side.peer.version) as asker:
            assert heartbeat(asker, "asker").code == 0
            for properties, end, remark in ends:
                posted = side.peer.post(reply(properties), b"answer %d" % stored)
                if end is not None:
                    pushed = asker.asked(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT)
                    if end == "silent":
                        side.cluster.advance(10_001)
                    elif end == "gone":
                        asker.socket.close()
                    else:
                        asker.socket.sendall(encode(pushed.answer(int(end))))
                answer = side.peer.answer_to(posted)
                code = ResponseCode.SUCCESS if remark is None else ResponseCode.SYSTEM_ERROR
                assert (answer.code, answer.remark) == (code, remark), end
                # What is stored is told of, whether or not it arrived.
                offset = str(stored) if kept else "0" if remark is None else None
                assert answer.ext("queueOffset") == offset, end
                assert (answer.ext("msgId") == "0") == (not kept and remark is None)
                assert (answer.ext("MSG_REGION"), answer.ext("TRACE_ON")) == ("DefaultRegion", "true")
                stored += kept
    assert stored_replies(side) == [b"answer %d" % number for number in range(len(ends))][:32]


def test_a_reply_is_pushed_field_by_field(side: Side) -> None:
    own = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"} if side.is_v5 else {}
    with Peer(side.cluster.broker().address, version=side.peer.version) as asker:
        assert heartbeat(asker, "asker").code == 0
        for end in ("", "\x02"):
            side.cluster.advance(5_003)
            posted = side.peer.post(reply(f"REPLY_TO_CLIENT\x01asker\x02A\x01b{end}"), b"answer")
            pushed = asker.asked(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT)
            header = ReplyMessage.from_ext(pushed.ext_fields or {})
            texts = (text.partition("\x01") for text in (header.properties or "").split("\x02") if text)
            assert {name: value for name, _, value in texts} == {
                "REPLY_TO_CLIENT": "asker", "A": "b", "PUSH_REPLY_TIME": str(side.cluster.now_ms()), **own,
            }  # fmt: skip
            assert header == ReplyMessage(
                producer_group="GP", topic=REPLIES, default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
                sys_flag=8, born_timestamp=1_700_000_000_000, flag=5, properties=header.properties, reconsume_times=3,
                unit_mode=False, born_host=side.peer.local, store_host=side.cluster.broker().address,
                store_timestamp=side.cluster.now_ms(),
            )  # fmt: skip
            asker.socket.sendall(encode(pushed.answer(0)))
            assert side.peer.answer_to(posted).code == 0


# Filters


def test_a_subscription_is_refused_for_its_kind_for_the_setting_and_for_its_text(side: Side) -> None:
    fine, unparsed, closed = ResponseCode.SUCCESS, ResponseCode.SUBSCRIPTION_PARSE_FAILED, ResponseCode.SYSTEM_ERROR
    texts = ("a > 1", "a >", "", "TagA || TagB", "*")
    for enabled, kind, text in product((False, True), ("TAG", "", "SQL92", "sql92", "Bloom"), texts):
        side.set(enablePropertyFilter=str(enabled).lower())
        data = SubscriptionData(topic="T", sub_string=text, expression_type=kind)
        check = ClientConfigCheck(client_id="c", group="G", subscription_data=data)
        answer = side.peer.call(CheckClientConfig(), check.to_bytes())
        if kind in ("TAG", ""):
            expected = fine
        elif not enabled:
            expected = closed
        else:
            expected = fine if (kind, text) == ("SQL92", "a > 1") else unparsed
        assert answer.code == expected, (enabled, kind, text)
        assert bool(answer.remark) == (expected != fine)
        if expected != fine and not (enabled and kind == "SQL92"):
            assert kind in (answer.remark or "")
