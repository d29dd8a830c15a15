"""The loop that pulls: each queue of a process has one pull under way, and the next begins as soon as it is answered.

It is no member of its group and commits nothing: nobody's progress changes, and nothing is rebalanced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mqctl.bench.connection import BenchConnection
from mqctl.bench.recorder import Recorder
from mqctl.bench.task import BenchTask, EndTold, SecondTold
from mqctl.client.admin.broker_messages import pull
from mqctl.client.remoting.link import signed
from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.model.own_messages import BENCH
from mqctl.protocol.codes import PULL_RESULTS, ResponseCode
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.requests_client import PullMessageReply
from mqctl.text import sentence

_SUSPEND_MS = 500
_SWEEP_S = 0.1
_AGAIN_S = 0.1
_DUE = f"{BENCH}\x01".encode()
_ENDS = b"\x02\x00"


class _Pending(NamedTuple):
    lane: int
    sent: float
    connection: BenchConnection


class PullLoop:
    """The pulls of one process.

    Args:
        tell: gets every second that has passed.
    """

    def __init__(self, task: BenchTask, tell: Callable[[SecondTold], None]) -> None:
        self._task = task
        self._tell = tell
        self._recorder = Recorder(scheduled=True)
        self._connections: dict[str, BenchConnection] = {}
        self._offsets = list(task.begin_offsets)
        self._idle = list(range(len(task.queues)))
        self._pending: dict[int, _Pending] = {}
        self._resting = 0  # queues whose pull failed, until it is made again
        self._opaque = 0
        self._second = 0
        self._messages = self._bytes = 0
        self._began = self._end = self._last_answer = 0.0
        self._ended = asyncio.Event()
        self._ended_by = ""

    async def connect(self) -> None:
        """Opens a connection to each broker. Raises MqctlError, OSError, TimeoutError."""
        for name in sorted({name for name, _ in self._task.queues}):
            self._connections[name] = BenchConnection(name, self._answered, self._lost, self._go_on)
            await self._open(name)

    async def _open(self, name: str) -> None:
        await self._connections[name].open(self._task.addresses[name], self._task.tls, self._task.timeout_ms / 1000)

    async def run(self) -> EndTold:
        """Pulls until the first end is reached, and tells what it cost."""
        cpu = time.process_time()
        self._began = time.perf_counter()
        self._end = self._began + self._task.duration_ms / 1000
        helpers = [asyncio.create_task(self._tick()), asyncio.create_task(self._tell_seconds())]
        self._go_on()
        await self._ended.wait()
        busy_s = (self._last_answer if self._ended_by in ("end", "count") else time.perf_counter()) - self._began
        for running in helpers:
            running.cancel()
        self._tell(self._recorder.take(self._second))
        connects = [each.connect_s for each in self._connections.values() if each.connect_s is not None]
        await asyncio.gather(*(each.close(self._task.timeout_ms / 1000) for each in self._connections.values()))
        return EndTold(
            ended_by=self._ended_by,
            busy_s=max(busy_s, 0.0),
            cpu_s=time.process_time() - cpu,
            blocked_s=max((each.blocked_s for each in self._connections.values()), default=0.0),
            arriving_s=max((each.arriving_s for each in self._connections.values()), default=0.0),
            connect_ms=min(connects) * 1000 if connects else None,
        )

    def stop(self, why: str) -> None:
        """Ends the pulls; what a broker still answers does not count."""
        if not self._ended_by:
            self._ended_by = why
            self._ended.set()

    # Pulls

    def _go_on(self) -> None:
        if self._ended_by:
            return
        if not self._idle and not self._pending and not self._resting:
            self.stop("end")
            return
        waiting, self._idle = self._idle, []
        touched = {connection for lane in waiting if (connection := self._pull(lane)) is not None}
        for connection in touched:
            connection.flush()

    def _pull(self, lane: int) -> BenchConnection | None:
        name, queue_id = self._task.queues[lane]
        ends = self._task.end_offsets
        if ends is not None and self._offsets[lane] >= ends[lane]:
            return None  # this queue is read
        connection = self._connections[name]
        if not connection.is_up:
            self._idle.append(lane)
            return None
        self._opaque = (self._opaque + 1) & 0x7FFFFFFF
        question = pull(
            self._task.consumer_group,
            self._task.topic,
            queue_id,
            self._offsets[lane],
            max_count=self._task.workload.batch_count,
            suspend_ms=_SUSPEND_MS,
        )
        command = question.request.command(opaque=self._opaque)
        credentials = self._task.credentials
        connection.send(encode(command if credentials is None else signed(command, credentials)))
        self._pending[self._opaque] = _Pending(lane, time.perf_counter(), connection)
        return connection

    def _answered(self, connection: BenchConnection, answers: Sequence[RemotingCommand]) -> None:
        self._last_answer = now = time.perf_counter()
        for answer in answers:
            pending = self._pending.pop(answer.opaque, None) if answer.is_response else None
            if pending is None or self._ended_by:
                continue
            if answer.code not in PULL_RESULTS:
                self._recorder.failed(str(answer.code), answer.remark or "", None)
                self._rest(pending.lane)
                continue
            try:
                reply = PullMessageReply.from_ext(answer.ext_fields)
            except MqctlError as error:
                self._recorder.failed("ANSWER", str(error), None)
                self._rest(pending.lane)
                continue
            self._offsets[pending.lane] = reply.next_begin_offset
            if answer.code == ResponseCode.SUCCESS:
                self._take(answer.body, now - pending.sent)
            self._idle.append(pending.lane)
        self._go_on()

    def _rest(self, lane: int) -> None:
        self._resting += 1
        asyncio.get_running_loop().call_later(_AGAIN_S, self._again, lane)

    def _again(self, lane: int) -> None:
        self._resting -= 1
        self._idle.append(lane)
        self._go_on()

    def _take(self, body: bytes, service_s: float) -> None:
        now_us = time.time_ns() // 1000
        count, ages = 0, []
        for record in _records(body):
            count += 1
            due_us = due_of(record)
            if due_us is not None:
                ages.append((now_us - due_us) / 1_000_000)
        self._recorder.received(ages, service_s, count, len(body))
        self._messages += count
        self._bytes += len(body)
        if self._messages >= self._task.max_messages:
            self.stop("count")
        elif self._bytes >= self._task.max_bytes:
            self.stop("quota")

    def _lost(self, connection: BenchConnection, reason: str) -> None:
        for opaque in [opaque for opaque, item in self._pending.items() if item.connection is connection]:
            self._forget(opaque, "CONNECTION", reason)

    def _forget(self, opaque: int, name: str, reason: str) -> None:
        self._idle.append(self._pending.pop(opaque).lane)
        self._recorder.failed(name, reason, None)

    # Time

    async def _tell_seconds(self) -> None:
        while True:
            await asyncio.sleep(self._began + self._second + 1 - time.perf_counter())
            self._tell(self._recorder.take(self._second))
            self._second += 1

    async def _tick(self) -> None:
        """Reconnects, gives up pulls that were not answered in time, and ends the run when its time is up."""
        while not self._ended_by:
            await asyncio.sleep(max(0.0, min(_SWEEP_S, self._end - time.perf_counter())))
            now = time.perf_counter()
            if now >= self._end:
                self.stop("duration")
                return
            limit_s = (self._task.timeout_ms + _SUSPEND_MS) / 1000
            for opaque, item in list(self._pending.items()):
                if now - item.sent > limit_s:
                    self._forget(
                        opaque,
                        "TIMEOUT",
                        sentence(
                            "client-no-answer-within-ms", "no answer within {limit_ms}", limit_ms=round(limit_s * 1000)
                        ),
                    )
            for name, connection in self._connections.items():
                if not connection.is_up:
                    try:
                        await self._open(name)
                    except (OSError, MqctlError):
                        continue  # the next round tries again
            self._go_on()


def _records(body: bytes) -> Iterator[bytes]:
    at = 0
    while at + 4 <= len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        if size <= 0:
            return
        yield body[at : at + size]
        at += size


def due_of(record: bytes) -> int | None:
    """Returns when a message of a bench was due to be sent, epoch microseconds; None for another one's message."""
    at = record.rfind(_DUE)
    if at < 0:
        return None
    end = at = at + len(_DUE)
    while end < len(record) and record[end] not in _ENDS:
        end += 1
    return decimal(record[at:end].decode("ascii", "replace"))
