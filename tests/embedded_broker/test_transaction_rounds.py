"""Rounds of checks by hand: when a half message is asked about, put back, given up, or too late to be ended."""

from __future__ import annotations

import logging
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.clock import Clock
from embedded_broker.log.copies import copy_of
from embedded_broker.transactions.op_messages import ended_offsets
from mqctl.model.message import Message
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.requests_admin import ResumeCheckHalfMessage
from mqctl.protocol.requests_client import EndTransaction
from mqctl.store.record_writer import text_of_properties
from tests.each import each
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.test_transactions import COMMIT, ROLLBACK, UNKNOWN, Half, half, progress, stored
from tests.embedded_broker.wire import Peer

START_MS = 1_700_000_000_000
TICK_MS, TIMEOUT_MS = 1_000, 6_000
HOUR_MS = 3_600_000
CHECK = RequestCode.CHECK_TRANSACTION_STATE
BODY_LENGTH_AT = 84
"""Where a record says how long its body is."""
IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"


class Side:
    """A broker that checks every second, and a producer of group GP."""

    def __init__(self, cluster: EmbeddedCluster, peer: Peer) -> None:
        self.cluster, self.peer = cluster, peer

    @property
    def now(self) -> int:
        return self.cluster.now_ms() - START_MS

    def reach(self, moment: int) -> None:
        while self.now < moment:  # the producer stays registered
            self.cluster.advance(min(moment - self.now, 60_000))
            heartbeat(self.peer, "producer")

    def half(self, key: str = "K", **wanted: Any) -> Half:
        return half(self.cluster, self.peer, key, **wanted)

    def asked(self) -> list[str]:
        """Returns the keys of those that the producer was asked about since the last call."""
        heartbeat(self.peer, "producer")
        keys = [command.ext("transactionId") or "" for command in self.peer.unasked if command.code == CHECK]
        self.peer.unasked.clear()
        return keys

    def entries(self, topic: str) -> list[Message]:
        def read(broker: Broker) -> list[Message]:
            entries = broker.storage.entries(topic, 0, 0, 1_000)
            return [decode_message(broker.storage.message_at(offset) or b"") for offset, _, _ in entries]

        return self.cluster.broker().on_loop(read)

    def ops(self) -> list[bytes]:
        return [one.body for one in self.entries(OP_TOPIC)]

    def progress(self) -> tuple[int, int]:
        return progress(self.peer, HALF_TOPIC), progress(self.peer, OP_TOPIC)


def opened(version: str = "4.9.8", **changes: str) -> Iterator[Side]:
    properties = {"transactionCheckInterval": str(TICK_MS), **changes}
    with (
        EmbeddedCluster(version=version, virtual_time=True, starts_at_ms=START_MS, settings=properties) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        heartbeat(peer, "producer")
        yield Side(cluster, peer)


@pytest.fixture
def side() -> Iterator[Side]:
    yield from opened()


@pytest.fixture
def five() -> Iterator[Side]:
    yield from opened("5.3.3")


@each(
    "stored_at, age_ms, immunity, asked_at, copies",
    [
        (0, 0, None, TIMEOUT_MS, 1),
        (1, 0, None, TIMEOUT_MS + 1_000, 1),
        (999, 0, None, TIMEOUT_MS + 1_000, 1),
        (0, 2_000, None, TIMEOUT_MS - 2_000, 1),
        (0, 2_001, None, TIMEOUT_MS - 2_000, 1),
        (0, 1_999, None, TIMEOUT_MS - 1_000, 1),
        (0, 20_000, None, 1_000, 1),
        (500, 20_000, None, 1_000, 1),
        (0, -1_001, None, 1_000, 1),  # born in the future
        (0, -1_000, None, 7_000, 1),
        (0, 0, "3", 3_000, 3),
        (1, 0, "3", 4_000, 4),
        (0, 0, "8", 8_000, 8),
        (0, 0, "0", 1_000, 1),
        (0, 0, "no number", TIMEOUT_MS, 6),
        (0, 0, str((1 << 32) + 1), TIMEOUT_MS, 6),
        (0, 0, "-1", TIMEOUT_MS, 6),
    ],
)
def test_a_half_message_is_asked_about_when_its_time_is_over(
    stored_at: int, age_ms: int, immunity: str | None, asked_at: int, copies: int
) -> None:
    """Each look that finds it immune copies it, and so does the one that asks."""
    for side in opened():
        side.reach(stored_at)
        side.half(age_ms=age_ms, **({} if immunity is None else {IMMUNITY: immunity}))
        side.reach(asked_at - 1)
        assert side.asked() == []
        side.reach(asked_at)
        assert side.asked() == ["K"]
        own = side.entries(HALF_TOPIC)
        assert [one.properties.get("TRANSACTION_CHECK_TIMES") for one in own] == [None, *map(str, range(1, copies + 1))]
        first = None if immunity is None or copies == 1 else "0"
        assert {one.properties.get("TRAN_PREPARED_QUEUE_OFFSET") for one in own[1:]} == {first}
        assert {one.born_time_ms for one in own} == {START_MS + stored_at - age_ms}


def test_the_longest_immunity_is_a_number() -> None:
    """A century and more: it is put back again and again, and never asked about."""
    for side in opened():
        side.half(**{IMMUNITY: str(1 << 32)})
        side.reach(10_000)
        assert (side.asked(), len(side.entries(HALF_TOPIC))) == ([], 11)


@each("checks", [1, 3, 15])
def test_a_half_message_is_asked_about_so_often_and_then_given_up(checks: int) -> None:
    """Its last copy is found in the round that made it, and is not too young for that."""
    for side in opened(transactionCheckMax=str(checks)):
        side.half(age_ms=TIMEOUT_MS)
        side.reach(checks * TICK_MS - 1)
        assert (side.asked(), side.entries(DISCARD_TOPIC)) == (["K"] * (checks - 1), [])
        side.reach(checks * TICK_MS)
        (gone,) = side.entries(DISCARD_TOPIC)
        assert (gone.properties["TRANSACTION_CHECK_TIMES"], gone.body, side.asked()) == (str(checks), b"half", ["K"])
        side.reach((checks + 2) * TICK_MS)
        assert side.progress()[0] == checks + 1 == len(side.entries(HALF_TOPIC))


def test_what_was_given_up_and_is_resumed_is_counted_from_nothing() -> None:
    for side in opened(transactionCheckMax="2"):
        side.half(age_ms=TIMEOUT_MS)
        side.reach(2 * TICK_MS)
        (gone,) = side.entries(DISCARD_TOPIC)
        name = str(OffsetId(side.cluster.broker().address, gone.physical_offset))
        assert side.peer.call(ResumeCheckHalfMessage(msg_id=name)).code == 0
        assert side.entries(HALF_TOPIC)[-1].properties["TRANSACTION_CHECK_TIMES"] == "0"
        assert side.asked() == ["K"] * 2
        side.reach(6 * TICK_MS)
        assert (side.asked(), len(side.entries(DISCARD_TOPIC))) == (["K"] * 2, 2)


@each("over_ms, given_up", [(0, False), (1, True)])
def test_a_half_message_lives_as_long_as_the_files(over_ms: int, given_up: bool) -> None:
    for side in opened(fileReservedTime="2"):
        side.half(age_ms=2 * HOUR_MS - TICK_MS + over_ms)
        side.reach(TICK_MS)
        assert len(side.entries(DISCARD_TOPIC)) == int(given_up)
        assert side.asked() == ([] if given_up else ["K"])


@each(
    "immunity, age_ms, refused",
    [
        ("10", 10_000, False), ("10", 10_001, True), ("2", TIMEOUT_MS, False), ("2", TIMEOUT_MS + 1, True),
        (None, 1_000_000, False), ("no number", TIMEOUT_MS, False), ("no number", TIMEOUT_MS + 1, True),
    ],
)  # fmt: skip
def test_5x_takes_an_end_within_the_longer_of_two_times(immunity: str | None, age_ms: int, refused: bool) -> None:
    for side in opened("5.3.3"):
        one = side.half(age_ms=age_ms, **({} if immunity is None else {IMMUNITY: immunity}))
        code = side.peer.call(one.end()).code
        assert code == (ResponseCode.ILLEGAL_OPERATION if refused else 0)
        assert len(stored(side.peer, "TopicTx")) == int(not refused)
        assert side.peer.call(one.end(checked=True)).code == 0
    for side in opened():
        one = side.half(age_ms=age_ms, **({} if immunity is None else {IMMUNITY: immunity}))
        assert side.peer.call(one.end()).code == 0, "4.9 takes it whenever it comes"


def test_what_is_committed_is_the_message_that_was_sent(side: Side) -> None:
    side.half("other")
    side.reach(5)
    properties = {"UNIQ_KEY": "K", "TRAN_MSG": "true", "PGROUP": "GP", "TAGS": "TagT", "KEYS": "k1 k2", "own": "1"}
    request = send("TopicTx", queue_id=3, properties=properties, sys_flag=4, born_ms=START_MS - 77, reconsume_times=2)
    answer = side.peer.call(request, b"body")
    assert answer.ext("queueOffset") == "1"
    waiting = side.entries(HALF_TOPIC)[1]
    assert (waiting.topic, waiting.queue_id, waiting.sys_flag) == (HALF_TOPIC, 0, 0)
    one = Half("GP", 1, waiting.physical_offset, "K")
    side.reach(9)
    assert side.peer.call(one.end()).code == 0
    (got,) = stored(side.peer, "TopicTx", queue_id=3)
    assert (got.body, got.sys_flag, got.prepared_transaction_offset) == (b"body", COMMIT, waiting.physical_offset)
    assert (got.born_time_ms, got.store_time_ms) == (START_MS - 77, START_MS + 9)
    assert (got.born_host, got.flag, got.reconsume_times) == (waiting.born_host, waiting.flag, waiting.reconsume_times)
    assert {name: got.properties[name] for name in properties} == properties
    assert (got.properties["REAL_TOPIC"], got.properties["REAL_QID"]) == ("TopicTx", "3")
    assert side.ops() == [b"1"]
    assert [one.properties["TAGS"] for one in side.entries(OP_TOPIC)] == ["d"]


@each("version, has_id", [("4.9.8", False), ("5.3.3", True)])
def test_5x_writes_the_unique_key_into_a_half_message_as_transaction_id(version: str, has_id: bool) -> None:
    for side in opened(version):
        assert side.peer.call(side.half("K9").end()).code == 0
        (waiting,), (committed,) = side.entries(HALF_TOPIC), stored(side.peer, "TopicTx")
        expected = "K9" if has_id else None
        assert [one.properties.get("__transactionId__") for one in (waiting, committed)] == [expected] * 2


@each("other_bits", [0, 1, 2, 3])
def test_a_commit_changes_the_two_bits_of_its_kind_alone(side: Side, other_bits: int) -> None:
    """1 is a compressed body, 2 a message with several tags."""
    body = zlib.compress(b"body") if other_bits & 1 else b"body"
    properties = {"UNIQ_KEY": "K", "TRAN_MSG": "true", "PGROUP": "GP"}
    assert side.peer.call(send("TopicTx", properties=properties, sys_flag=4 | other_bits), body).code == 0
    *_, waiting = side.entries(HALF_TOPIC)
    assert side.peer.call(Half("GP", waiting.queue_offset, waiting.physical_offset, "K").end()).code == 0
    *_, committed = stored(side.peer, "TopicTx")
    assert (waiting.sys_flag, committed.sys_flag) == (other_bits, COMMIT | other_bits)


@each("how, remark", [(COMMIT, None), (ROLLBACK, "not set any response code")])
def test_the_remark_of_an_end(side: Side, how: int, remark: str | None) -> None:
    answer = side.peer.call(side.half().end(how))
    assert (answer.code, answer.remark) == (0, remark)


def test_other_ends_than_commit_and_rollback_end_nothing(side: Side) -> None:
    one = side.half()
    for how in (UNKNOWN, 4, 9):
        opaque = side.peer.post(one.end(how))
        heartbeat(side.peer, "producer")
        assert not [command for command in side.peer.unasked if command.opaque == opaque]
    assert (side.ops(), stored(side.peer, "TopicTx")) == ([], [])
    assert side.peer.call(one.end(ROLLBACK)).code == 0
    assert (side.ops(), stored(side.peer, "TopicTx")) == ([b"0"], [])


def test_each_end_needs_its_own_half_message_in_every_field(side: Side) -> None:
    first, second = side.half("A"), side.half("B")
    wrong = [
        Half("GP", first.half_offset, second.physical_offset, "A"),
        Half("GP", second.half_offset, first.physical_offset, "A"),
        Half("GP", -1, first.physical_offset, "A"),
        Half("GP", first.half_offset, -1, "A"),
        Half("", first.half_offset, first.physical_offset, "A"),
        Half("GP2", first.half_offset, first.physical_offset, "A"),
    ]
    assert {side.peer.call(one.end()).code for one in wrong} == {ResponseCode.SYSTEM_ERROR}
    assert (side.ops(), stored(side.peer, "TopicTx")) == ([], [])


def test_a_half_message_leaves_room_for_what_its_copies_name_besides(side: Side) -> None:
    """75 bytes: both properties with their separators, three digits of checks and the longest offset."""

    def send_half(size: int) -> int:
        wanted = {"UNIQ_KEY": "K", "TRAN_MSG": "true", "PGROUP": "GP", IMMUNITY: "3", "PAD": "x" * size}
        request = send("TopicTx", properties=wanted, sys_flag=4, born_ms=side.cluster.now_ms())
        return side.peer.call(request, b"x").code

    low, high = 30_000, 32_767
    while low < high:
        middle = (low + high + 1) // 2
        if send_half(middle) == 0:
            low = middle
        else:
            high = middle - 1

    def longest(broker: Broker) -> int:
        entries = broker.storage.entries(HALF_TOPIC, 0, 0, 100)
        return max(len(text_of_properties(broker.storage.message_at(at) or b"")) for at, _, _ in entries)

    assert side.cluster.broker().on_loop(longest) == 32_767 - 75
    count = len(side.entries(HALF_TOPIC))
    side.reach(2_000)
    assert len(side.entries(HALF_TOPIC)) == 3 * count, "all copies fit"


# Op messages


def test_5x_gathers_for_three_seconds_from_the_first_on(five: Side) -> None:
    halves = [five.half(f"{number}") for number in range(4)]
    five.reach(100)
    assert five.peer.call(halves[2].end()).code == 0
    five.reach(2_000)
    assert five.peer.call(halves[0].end(ROLLBACK)).code == 0
    five.reach(3_099)
    assert five.ops() == []
    five.reach(3_100)
    assert five.ops() == [b"2,0,"]
    five.reach(4_000)
    assert five.peer.call(halves[1].end()).code == 0
    five.reach(6_999)
    assert five.ops() == [b"2,0,"]
    five.reach(7_000)
    assert five.ops() == [b"2,0,", b"1,"]


@each("most, count", [(4, 3), (5, 3), (6, 4), (7, 4)])
def test_5x_writes_what_is_longer_than_a_message_at_once(most: int, count: int) -> None:
    """Each end takes two characters."""
    for side in opened("5.3.3", transactionOpMsgMaxSize=str(most)):
        halves = [side.half(f"{number}") for number in range(count + 1)]
        for one in halves[: count - 1]:
            assert side.peer.call(one.end()).code == 0
        assert side.ops() == []
        assert side.peer.call(halves[count - 1].end()).code == 0
        together = "".join(f"{number}," for number in range(count)).encode()
        assert side.ops() == [together]
        side.reach(500)
        assert side.peer.call(halves[count].end()).code == 0
        side.reach(3_499)
        assert len(side.ops()) == 1, "the time of those before is over"
        side.reach(3_500)
        assert side.ops() == [together, b"%d," % count]


def test_5x_writes_at_a_stop_and_keeps_what_the_disk_refused(five: Side) -> None:
    halves = [five.half(f"{number}") for number in range(3)]
    broker = five.cluster.broker()
    assert five.peer.call(halves[0].end(ROLLBACK)).code == 0
    broker.limit_disk(0)
    five.reach(4_000)
    assert five.ops() == []
    broker.limit_disk(None)
    assert five.peer.call(halves[1].end(ROLLBACK)).code == 0
    five.reach(8_000)
    assert five.ops() == [b"0,1,"]
    assert five.peer.call(halves[2].end(ROLLBACK)).code == 0
    for _ in range(2):  # the second time there is nothing to be written
        broker.stop()
        broker.start()
        assert five.ops() == [b"0,1,", b"2,"]


@each(
    "body, offsets",
    [(b"0", [0]), (b"12", [12]), (b"3,4,", [3, 4]), (b" 3 , 4", [3, 4]), (b"", []), (b",", []), (b"x,1", [1]),
     (b"-1,5", [5]), (b"1.5", []), (b"9223372036854775807,", [(1 << 63) - 1]), ("１".encode(), [])],
)  # fmt: skip
def test_which_half_messages_an_op_message_names(body: bytes, offsets: list[int]) -> None:
    assert ended_offsets(body) == offsets


def test_the_offset_of_op_messages_waits_for_the_first_whose_half_message_is_open(side: Side) -> None:
    halves = [side.half(f"{number}") for number in range(4)]
    for number in (3, 0, 2):
        assert side.peer.call(halves[number].end()).code == 0
    side.reach(TICK_MS)
    assert side.progress() == (1, 0), "1 is too young, and the op of 3 comes first"
    side.reach(TIMEOUT_MS)
    assert side.asked() == ["1"]
    assert side.progress() == (4, 3), "the copy of 1 waits behind them"
    copy = side.entries(HALF_TOPIC)[4]
    assert side.peer.call(Half("GP", 4, copy.physical_offset, "1").end(checked=True)).code == 0
    side.reach(TIMEOUT_MS + TICK_MS)
    assert (side.asked(), side.progress()) == ([], (5, 4))


def test_an_immune_one_that_names_an_ended_one_is_ended_in_its_place(side: Side) -> None:
    """As in the original, which takes the op message out of its map when it has found it once."""
    side.half("A", TRAN_PREPARED_QUEUE_OFFSET="1", **{IMMUNITY: "60"})
    side.half("B", TRAN_PREPARED_QUEUE_OFFSET="7", **{IMMUNITY: "60"})
    ended = Half("GP", 1, side.entries(HALF_TOPIC)[1].physical_offset, "B")
    assert side.peer.call(ended.end(ROLLBACK)).code == 0
    side.reach(TICK_MS)
    assert (len(side.entries(HALF_TOPIC)), side.progress(), side.asked()) == (3, (2, 1), [])


def test_strange_op_messages_are_passed(side: Side) -> None:
    one = side.half()
    assert side.peer.call(one.end(ROLLBACK)).code == 0

    def strange(broker: Broker) -> None:
        for body, properties in ((b"0", "TAGS\x01x\x02"), (b"none", "TAGS\x01d\x02"), (b"77", "TAGS\x01d\x02")):
            message = broker.storage.message_at(broker.storage.entries(OP_TOPIC, 0, 0, 1)[0][0])
            assert message is not None
            copy = copy_of(decode_message(message), properties)
            copy.body = body
            broker.intake.put(copy)

    side.cluster.broker().on_loop(strange)
    two = side.half("K2")
    side.reach(TICK_MS)
    assert side.progress() == (1, 3), "77 is ended before it is there"
    assert side.peer.call(two.end()).code == 0
    side.reach(2 * TICK_MS)
    assert side.progress() == (2, 3)
    assert side.asked() == []


def test_a_restart_goes_on_where_the_last_round_ended(side: Side) -> None:
    for number in range(3):
        assert side.peer.call(side.half(f"{number}").end(ROLLBACK)).code == 0
    side.reach(TICK_MS)
    side.cluster.broker().stop()
    side.cluster.broker().start()
    with Peer(side.cluster.broker().address) as peer:
        assert (progress(peer, HALF_TOPIC), progress(peer, OP_TOPIC)) == (3, 3)


# What stands in the way


def shrink(most_bytes: int, broker: Broker) -> None:
    """Has the store take shorter bodies alone from now on."""
    broker.storage.settings = replace(broker.storage.settings, max_message_size=most_bytes)


def test_a_copy_that_fits_no_record_is_set_aside_and_others_are_asked_about(side: Side) -> None:
    long = side.half("long", body=b"x" * 101, age_ms=TIMEOUT_MS)
    side.half("short", body=b"x" * 100, age_ms=TIMEOUT_MS)
    side.cluster.broker().on_loop(partial(shrink, 100))
    side.reach(TICK_MS)
    assert (side.asked(), side.progress()[0]) == (["short"], 2)
    answer = side.peer.call(long.end())
    assert (answer.code, (answer.remark or "")[:23]) == (ResponseCode.MESSAGE_ILLEGAL, "The message is illegal,")
    assert side.ops() == [], "it is not ended"


@pytest.mark.parametrize("broken", range(3))
def test_a_half_message_that_cannot_be_read_is_passed(
    broken: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        EmbeddedCluster(
            version="4.9.8", virtual_time=True, data_dir=tmp_path, settings={"transactionCheckInterval": str(TICK_MS)}
        ) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        heartbeat(peer, "producer")
        side = Side(cluster, peer)
        halves = [side.half(f"K{number}", age_ms=TIMEOUT_MS) for number in range(3)]
        (log_file,) = tmp_path.glob("**/commitlog/0*")
        with log_file.open("r+b") as stream:
            stream.seek(halves[broken].physical_offset + BODY_LENGTH_AT)
            stream.write(struct.pack(">i", 0x7FFFFFFF))
        cluster.advance(TICK_MS)
        assert side.asked() == [f"K{number}" for number in range(3) if number != broken]
        assert side.progress()[0] == 3
        unread = [text for text in caplog.messages if "cannot be read" in text]
        assert [text.split(" cannot")[0] for text in unread] == [f"half message at queue offset {broken}"]


class Stepping:
    """A clock of which ten seconds pass with every look at it."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._looks = clock, 0
        self.call_later = clock.call_later

    def now_ms(self) -> int:
        self._looks += 1
        return self._clock.now_ms() + self._looks * 10_000


def test_a_round_that_the_store_refuses_begins_anew_where_it_was(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        side.half(f"K{number}", age_ms=TIMEOUT_MS)
    side.cluster.broker().limit_disk(0)
    side.reach(3 * TICK_MS)
    refused = [text for text in caplog.messages if text.startswith("check of transactions: ")]
    assert (len(refused), side.asked(), side.progress()[0]) == (3, [], 0)
    side.cluster.broker().limit_disk(None)
    side.reach(4 * TICK_MS)
    assert (side.asked(), side.progress()[0]) == (["K0", "K1", "K2"], 3)


def test_a_round_lasts_a_minute(side: Side) -> None:
    for number in range(10):
        assert side.peer.call(side.half(f"{number}").end(ROLLBACK)).code == 0
    side.cluster.broker().on_loop(lambda broker: setattr(broker.intake, "clock", Stepping(broker.clock)))
    side.cluster.advance(TICK_MS)
    side.cluster.broker().on_loop(lambda broker: setattr(broker.intake, "clock", broker.clock))
    assert side.progress()[0] == 6
    side.cluster.advance(TICK_MS)
    assert side.progress()[0] == 10


# Who is asked


def test_producers_of_a_group_are_asked_in_turn(side: Side) -> None:
    with Peer(side.cluster.broker().address) as other:
        heartbeat(other, "other")
        for number in range(4):
            side.half(f"{number}", age_ms=TIMEOUT_MS)
        side.reach(TICK_MS)
        heartbeat(other, "other")
        theirs = [command for command in other.unasked if command.code == CHECK]
        assert (len(side.asked()), len(theirs)) == (2, 2)
    heartbeat(side.peer, "producer")
    side.reach(2 * TICK_MS)
    assert sorted(side.asked()) == ["0", "1", "2", "3"], "who is gone is not asked"


def test_the_log_counts_who_could_not_be_asked_by_group(caplog: pytest.LogCaptureFixture) -> None:
    for side in opened():
        for group, times in (("Away", 2), ("AwayToo", 1)):
            for _ in range(times):
                wanted = {"UNIQ_KEY": "K", "TRAN_MSG": "true", "PGROUP": group}
                request = send("TopicTx", properties=wanted, sys_flag=4, born_ms=START_MS - TIMEOUT_MS, group=group)
                assert side.peer.call(request, b"x").code == 0
        with caplog.at_level(logging.WARNING, "embedded_broker"):
            side.reach(2 * TICK_MS)
        counts = [record.args for record in caplog.records if "is there to be asked" in record.msg]
        assert counts == [("Away", 2), ("AwayToo", 1)] * 2


# What is promised: the model is a dictionary


class Model:
    """A producer that begins and ends transactions at random, and says the same whenever it is asked again."""

    def __init__(self, side: Side, prefix: str) -> None:
        self.side, self.prefix = side, prefix
        self.open: dict[str, Half] = {}
        self.ends: dict[str, int] = {}
        self.commits: Counter[str] = Counter()

    def half(self, number: int) -> None:
        key = f"{self.prefix}{len(self.open) + len(self.ends)}"
        self.open[key] = self.side.half(key, body=key.encode(), **({IMMUNITY: "3"} if number % 4 == 0 else {}))

    def end(self, number: int) -> None:
        if self.open:
            key = sorted(self.open)[number % len(self.open)]
            self.say(key, self.open[key].end(COMMIT if number % 3 else ROLLBACK))

    def say(self, key: str, request: EndTransaction) -> None:
        if self.side.peer.call(request).code == 0:
            self.open.pop(key, None)
            self.ends[key] = request.commit_or_rollback
            self.commits[key] += request.commit_or_rollback == COMMIT

    def wait(self, number: int) -> None:
        self.side.reach(self.side.now + (1, 400, 1_000, 5_000)[number % 4])

    def answer(self, number: int) -> None:
        """Answers every question that has come."""
        heartbeat(self.side.peer, "producer")
        questions = [command for command in self.side.peer.unasked if command.code == CHECK]
        self.side.peer.unasked.clear()
        for command in questions:
            key = command.ext("transactionId") or ""
            if not key.startswith(self.prefix):
                continue
            half_offset, physical = (
                int(command.ext(name) or -1) for name in ("tranStateTableOffset", "commitLogOffset")
            )
            how = self.ends.get(key, COMMIT if number % 3 else ROLLBACK)
            self.say(key, Half("GP", half_offset, physical, key).end(how, checked=True))

    def finish(self) -> None:
        self.side.reach((self.side.now // TICK_MS + 1) * TICK_MS + 200)  # op messages are written before the next round
        for number in range(12):
            self.side.reach(self.side.now + TICK_MS)
            self.answer(number)
        assert not self.open, "each is asked about until it is ended"
        self.side.reach(self.side.now + 3_000)
        assert self.side.progress() == (len(self.side.entries(HALF_TOPIC)), len(self.side.entries(OP_TOPIC)))
        self.side.peer.unasked.clear()
        self.side.reach(self.side.now + 3_000)
        assert self.side.asked() == []


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
@pytest.mark.both_releases
def test_each_transaction_ends_as_its_producer_says_and_as_often(version: str) -> None:
    for side in opened(version, transactionTimeOut="2000", transactionOpBatchInterval="500"):
        each_ends_as_often_as_said(side, count())


def each_ends_as_often_as_said(side: Side, names: Iterator[int]) -> None:
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(
        st.lists(
            st.tuples(st.sampled_from([Model.half, Model.end, Model.wait, Model.answer]), st.integers(0, 99)),
            min_size=4,
            max_size=20,
        )
    )
    def run(steps: list[tuple[Any, int]]) -> None:
        model, before = Model(side, f"run{next(names)}-"), len(stored(side.peer, "TopicTx"))
        model.half(0)
        for step, number in steps:
            step(model, number)
        model.finish()
        got = Counter(message.body.decode() for message in stored(side.peer, "TopicTx", before))
        assert got == +model.commits

    run()
