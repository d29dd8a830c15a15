"""Asks an embedded broker what a real one was asked in recorded POP sessions, and compares the answers."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from embedded_broker import EmbeddedCluster
from mqctl.model.message import Message
from mqctl.protocol.bodies_pop import Assignments, BatchAcks, MessageRequestModes
from mqctl.protocol.bodies_stats import ConsumeStats
from mqctl.protocol.declared import replaced
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.properties import format_properties
from mqctl.protocol.receipts import Receipt, ReceiptError, read_start_offsets
from mqctl.protocol.requests_client import GetMaxOffset, SendMessageV2
from tests.embedded_broker.wire import Peer
from tests.pop_recording import PopFrame, recorded_pop_frames

KILLED = {32}
"""Connections of clients that ended by SIGKILL: behind their last frame."""
EARLIER = {534: 532}
"""What one thread of the real broker did before what another had read first."""
OF_THE_MOMENT = {"CLUSTER", "MSG_REGION", "TRACE_ON", "POP_CK", "1ST_POP_TIME", "INSTANCE_ID"}
IDLE_MS = 120_000
"""After so long a broker closes a connection on which nothing was said."""
TOLERANCE_MS = 3_000
"""How far apart the moments of a session are that may differ: two rounds of revive, and what a pop took."""


@dataclass
class Replay:
    """A broker that is asked what a real one was asked, at the same moments of its own clock."""

    cluster: EmbeddedCluster
    draws: list[int] = field(default_factory=lambda: [99])
    peers: dict[int, Peer] = field(default_factory=dict)
    pops: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    open: dict[int, tuple[Peer, int]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    opaques: Iterator[int] = field(default_factory=lambda: count(1))
    spoke: dict[int, int] = field(default_factory=dict)
    shift_ms: int = 0
    supplies: bool = False

    def run(self, frames: list[PopFrame]) -> int:
        """Replays frames; returns how many answers were compared."""
        answers = {frame.request_seq: frame for frame in frames if frame.command.is_response}
        last = {frame.connection: frame.seq for frame in frames}
        compared = 0
        for frame in frames:
            self._reach(frame.at_ms)
            if not frame.command.is_response:
                self._draw_for(answers.get(frame.seq))
                if self.supplies and frame.request_code == 200050 and frame.seq in answers:
                    self._supply(answers[frame.seq].command)
                (self._expect if frame.is_ours else self._ask)(frame)
            elif not frame.is_ours:
                self._answer_broker(frame)
            elif frame.request_seq in self.open:
                compared += self._compare(frame)
            if frame.seq == last[frame.connection] and frame.connection in KILLED:
                self.peers.pop(frame.connection).socket.close()
        return compared

    def _supply(self, answer: RemotingCommand) -> None:
        """Sends what a pop returned and nobody sent in the recording, and as much as it says was left."""
        messages = list(decode_messages(answer.body)) if answer.body else []
        with Peer(self.cluster.broker().address, version=479) as peer:
            rest = int((answer.ext_fields or {}).get("restNum", "0"))
            for message in messages:
                if message.reconsume_times or message.queue_offset < end_of(peer, message.topic, message.queue_id):
                    continue
                send_copy(peer, message)
            for _ in range(rest):
                first = messages[0]
                taken = max(one.queue_offset for one in messages if one.queue_id == first.queue_id)
                if end_of(peer, first.topic, first.queue_id) <= taken + rest:
                    send_copy(peer, first)

    def _expect(self, frame: PopFrame) -> None:
        """Has the broker ask a client what the real one asked."""
        peer = self.peers[frame.connection]

        def found() -> RemotingCommand | None:
            unasked = [one for one in peer.unasked if not one.is_response and one.code == frame.request_code]
            return unasked[0] if unasked else None

        request = self._wait(peer, found, frame.at_ms)
        assert request is not None, f"{frame.session} {frame.seq}: no request {frame.request_code}"
        peer.unasked.remove(request)
        assert set(request.ext_fields or {}) == set(frame.command.ext_fields or {}), f"{frame.session} {frame.seq}"
        self.asked[frame.seq] = request.opaque

    def _answer_broker(self, frame: PopFrame) -> None:
        opaque = self.asked.pop(frame.request_seq or 0)
        self.peers[frame.connection].socket.sendall(encode(replace(frame.command, opaque=opaque)))

    def choose_draws(self) -> None:
        """Has the broker draw what the real one drew."""
        self.cluster.broker().on_loop(lambda broker: setattr(broker.pop, "draw", lambda: self.draws[0]))

    def kill(self, settings: Mapping[str, str]) -> None:
        """Kills the broker and starts it again."""
        self.close()
        self.peers.clear()
        self.cluster.broker().kill()
        self.cluster.broker().start(settings=settings)
        self.choose_draws()

    def close(self) -> None:
        for peer in self.peers.values():
            peer.socket.close()

    def _reach(self, at_ms: int) -> None:
        if not self.shift_ms:
            self.shift_ms = self.cluster.now_ms() - at_ms
        left_ms = at_ms + self.shift_ms - self.cluster.now_ms()
        if left_ms > 0:
            self.cluster.advance(left_ms)

    def _draw_for(self, answer: PopFrame | None) -> None:
        """Has the broker begin with the queue with which the real one began."""
        ext = (answer.command.ext_fields or {}) if answer is not None else {}
        starts = list(read_start_offsets(ext.get("startOffsetInfo")))
        if starts:
            flag, queue_id = starts[0]
            self.draws[0] = 96 + queue_id if flag == "0" else 97  # 96 is a multiple of every number of queues here

    def _ask(self, frame: PopFrame) -> None:
        quiet_ms = frame.at_ms - self.spoke.get(frame.connection, frame.at_ms)
        self.spoke[frame.connection] = frame.at_ms
        if quiet_ms >= IDLE_MS and frame.connection in self.peers:  # what it said meanwhile was thinned out
            self.peers.pop(frame.connection).socket.close()
        if frame.connection not in self.peers:
            broker, namesrv = self.cluster.broker().address, self.cluster.namesrv
            self.peers[frame.connection] = Peer(namesrv if frame.of_name_server else broker, version=479)
        peer = self.peers[frame.connection]
        opaque = peer.next_opaque()
        command = replace(self._as_of_now(frame.command), opaque=opaque)
        peer.socket.sendall(encode(command))
        self.open[frame.seq] = (peer, opaque)
        if not frame.of_name_server:
            peer.call(GetMaxOffset(topic="none", queue_id=0))  # what was asked before is done, or waits

    def _as_of_now(self, command: RemotingCommand) -> RemotingCommand:
        ext = dict(command.ext_fields or {})
        if int(ext.get("bornTime", "0")) > 0:
            ext["bornTime"] = str(int(ext["bornTime"]) + self.shift_ms)
        if "extraInfo" in ext:
            ext["extraInfo"] = self._own_receipt(ext["extraInfo"])
        if "recallHandle" in ext:
            version, topic, broker, due_ms, rest = b64decode(ext["recallHandle"]).decode().split(" ")
            handle = f"{version} {topic} {broker} {int(due_ms) + self.shift_ms} {rest}"
            ext["recallHandle"] = urlsafe_b64encode(handle.encode()).decode()
        body = command.body
        if command.code == 200151 and body:
            batch = BatchAcks.from_bytes(body)
            acks = []
            for ack in batch.acks:
                pop_ms, queue = self.pops.get((ack.pop_ms, ack.revive_queue), (ack.pop_ms, ack.revive_queue))
                acks.append(replaced(ack, pop_ms=pop_ms, revive_queue=queue))
            body = replaced(batch, acks=tuple(acks)).to_bytes()
        return replace(command, ext_fields=ext, body=body)

    def _own_receipt(self, text: str) -> str:
        try:
            receipt = Receipt.parse(text)
        except ReceiptError:
            return text
        own = self.pops.get((receipt.pop_ms, receipt.revive_queue))
        return text if own is None else str(replace(receipt, pop_ms=own[0], revive_queue=own[1]))

    def _compare(self, frame: PopFrame) -> int:
        peer, opaque = self.open.pop(frame.request_seq or 0)
        real = frame.command
        self._draw_for(frame)
        own = peer.answer_to(opaque) if frame.of_name_server else self._answer(peer, opaque, frame.at_ms)
        where = f"{frame.session} {frame.seq}"
        assert own.code == real.code, f"{where}: {own.remark} instead of {real.remark}"
        compare = {200050: self._popped, 200053: self._changed}.get(frame.request_code, _same)
        if frame.request_code == 200052:
            assert len(decode_messages(own.body)) == len(decode_messages(real.body)), where
            compare = self._only_ext
        compare(frame, own, where)
        return 1

    def _answer(self, peer: Peer, opaque: int, at_ms: int) -> RemotingCommand:
        """Waits for an answer that the real broker gave at that moment, a little longer than it took."""

        def found() -> RemotingCommand | None:
            return next((one for one in peer.unasked if one.is_response and one.opaque == opaque), None)

        answer = self._wait(peer, found, at_ms)
        assert answer is not None, f"no answer to request {opaque}"
        return answer

    def _wait(self, peer: Peer, found: Callable[[], RemotingCommand | None], at_ms: int) -> RemotingCommand | None:
        for late_ms in range(0, TOLERANCE_MS, 500):
            self._reach(at_ms + late_ms)
            peer.call(GetMaxOffset(topic="none", queue_id=0))
            if (command := found()) is not None:
                return command
        return None

    @staticmethod
    def _only_ext(frame: PopFrame, own: RemotingCommand, where: str) -> None:
        assert own.ext_fields == frame.command.ext_fields, where

    def _changed(self, frame: PopFrame, own: RemotingCommand, where: str) -> None:
        real = frame.command.ext_fields or {}
        self._remember(real, own)
        self._same_but_moments(own, frame.command, where)

    def _popped(self, frame: PopFrame, own: RemotingCommand, where: str) -> None:
        real = frame.command.ext_fields or {}
        self._remember(real, own)
        self._same_but_moments(own, frame.command, where)
        mine_all, theirs_all = in_order(decode_messages(own.body)), in_order(decode_messages(frame.command.body))
        receipts = [self._own_receipt(message.properties.get("POP_CK", "")) for message in theirs_all]
        assert sorted(message.properties.get("POP_CK", "") for message in mine_all) == sorted(receipts), where
        for mine, theirs in zip(mine_all, theirs_all, strict=True):
            assert _content(mine) == _content(theirs), f"{where}: {_content(mine)} {_content(theirs)}"
            first = theirs.properties.get("1ST_POP_TIME")
            if first is not None:
                assert abs(int(mine.properties["1ST_POP_TIME"]) - int(first) - self.shift_ms) < TOLERANCE_MS, where

    def _remember(self, real: Mapping[str, str], own: RemotingCommand) -> None:
        ext = own.ext_fields or {}
        key = (int(real.get("popTime", "0")), int(real.get("reviveQid", "0")))
        self.pops[key] = (int(ext.get("popTime", "0")), int(ext.get("reviveQid", "0")))

    def _same_but_moments(self, own: RemotingCommand, real: RemotingCommand, where: str) -> None:
        mine, theirs = dict(own.ext_fields or {}), dict(real.ext_fields or {})
        for ext in (mine, theirs):
            if int(ext.pop("popTime", "0")):
                ext["popped"] = "yes"
            if ext.get("reviveQid") != "999":
                ext.pop("reviveQid", None)
            elif 3_000 <= int(ext["invisibleTime"]) < 3_010:  # counted from the pop, some milliseconds ago
                ext["invisibleTime"] = "about 3000"
        if "startOffsetInfo" in theirs:
            for ext in (mine, theirs):  # which queue came first is the draw's business
                for name in ("startOffsetInfo", "msgOffsetInfo"):
                    ext[name] = ";".join(sorted(ext[name].split(";")))
        assert mine == theirs, where
        assert _without_places(own.remark) == _without_places(real.remark), where


def end_of(peer: Peer, topic: str, queue_id: int) -> int:
    """Returns the next offset of a queue."""
    return int((peer.call(GetMaxOffset(topic=topic, queue_id=queue_id)).ext_fields or {})["offset"])


def send_copy(peer: Peer, message: Message) -> None:
    """Sends a message as a recorded one once was."""
    kept = {name: value for name, value in message.properties.items() if name not in OF_THE_MOMENT}
    request = SendMessageV2(
        producer_group="P", topic=message.topic, default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=message.queue_id, sys_flag=message.sys_flag, born_timestamp=message.born_time_ms, flag=message.flag,
        properties=format_properties(kept),
    )  # fmt: skip
    assert peer.call(request, message.body).code == 0


def in_order(messages: Sequence[Message]) -> list[Message]:
    """Returns messages in the order in which they come, retried ones by what they say: eight threads revive them."""
    return sorted(messages, key=lambda one: one.body if one.reconsume_times else b"")


def _content(message: Message) -> tuple[object, ...]:
    properties = {name: value for name, value in message.properties.items() if name not in OF_THE_MOMENT}
    return (
        message.topic, message.queue_id, message.reconsume_times or message.queue_offset, message.flag,
        message.sys_flag, message.body, message.reconsume_times, properties,
    )  # fmt: skip


def _without_places(text: str | None) -> str | None:
    return None if text is None else text.split("consumer:[")[0].replace("127.0.0.2", "127.0.0.1")


def _same(frame: PopFrame, own: RemotingCommand, where: str) -> None:
    real = frame.command
    if frame.request_code == 400:
        mine, theirs = Assignments.from_bytes(own.body), Assignments.from_bytes(real.body)
        a, b = mine.message_queue_assignments, theirs.message_queue_assignments
        assert (a is None) == (b is None), where
        assert set(a or ()) == set(b or ()), where
    elif frame.request_code == 402:
        assert MessageRequestModes.from_bytes(own.body) == MessageRequestModes.from_bytes(real.body), where
    elif frame.request_code == 208:
        assert _progress(own) == _progress(real), where
    elif frame.request_code not in (310, 320, 203, 17, 200, 25, 105):
        if frame.request_code in (307, 351, 352):
            assert own.body == real.body, where
        assert (own.ext_fields or {}) == (real.ext_fields or {}), where
        if real.remark != "not set any response code":
            assert _without_places(own.remark) == _without_places(real.remark), where


def _progress(answer: RemotingCommand) -> dict[str, tuple[int, int, int | None]]:
    table = ConsumeStats.from_bytes(answer.body).offset_table
    return {
        f"{queue.topic} {queue.queue_id}": (item.broker_offset, item.consumer_offset, item.pull_offset)
        for queue, item in table.items()
    }


def frames_of(*sessions: str) -> list[PopFrame]:
    frames = [frame for frame in recorded_pop_frames() if frame.session in sessions]
    return sorted(frames, key=lambda frame: EARLIER.get(frame.seq, frame.seq + 0.5))
