"""The loop that sends: closed (an answer makes room for the next send) or open (by a schedule that waits for nobody).

With a schedule message n is due at start + n / rate, whatever happened to those before. When the broker stalls, what is
due waits for room, and its time counts from the moment it was due: no stall hides behind sends that were not made.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from mqctl.bench.connection import BenchConnection
from mqctl.bench.ending import HalfStored, TransactionEnder
from mqctl.bench.frames import SendFrames
from mqctl.bench.recorder import Recorder
from mqctl.bench.task import BenchTask, EndTold, SecondTold
from mqctl.errors import MqctlError
from mqctl.model.bench import MessageType, SendMode
from mqctl.protocol.codes import SEND_RESULTS
from mqctl.protocol.frame import RemotingCommand
from mqctl.text import sentence

_SWEEP_S = 0.1
_RECONNECT_S = 0.2
_FINEST_S = 0.001
_ONEWAY_BURST = 128


class _Pending(NamedTuple):
    due: float
    sent: float
    lane: int
    size_bytes: int
    unique_id: str
    connection: BenchConnection


class SendLoop:
    """The sends of one process.

    Args:
        tell: gets every second that has passed.
    """

    def __init__(self, task: BenchTask, tell: Callable[[SecondTold], None]) -> None:
        workload = task.workload
        self._task = task
        self._tell = tell
        self._frames = SendFrames(task)
        self._ender = TransactionEnder(task) if workload.message_type is MessageType.TRANSACTION else None
        self._oneway = workload.mode is SendMode.ONEWAY
        self._fifo = workload.message_type is MessageType.FIFO
        self._batch = workload.batch_count
        share = workload.in_flight // workload.process_count
        self._most = share + (task.number < workload.in_flight % workload.process_count)
        rate = workload.rate
        self._period_s = None if rate is None else workload.process_count * self._batch / rate
        self._recorder = Recorder(scheduled=rate is not None)
        self._connections: dict[str, list[BenchConnection]] = {}
        self._pending: dict[int, _Pending] = {}
        self._free = deque(self._own_lanes()) if self._fifo else deque[int]()
        self._opaque = 0
        self._turn = task.number
        self._random = Random(f"{workload.seed}/order/{task.number}")
        self._second = 0
        self._made = 0
        self._made_messages = 0
        self._made_bytes = 0
        self._began = self._end = self._last_answer = 0.0
        self._began_us = 0
        self._timer: asyncio.TimerHandle | None = None
        self._ended = asyncio.Event()
        self._ended_by = ""
        self._reconnecting: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        """Opens the connections. Raises MqctlError, OSError, TimeoutError."""
        for name, address in self._task.addresses.items():
            made = [
                BenchConnection(name, self._answered, self._lost, self._go_on)
                for _ in range(self._task.workload.connection_count)
            ]
            self._connections[name] = made
            await asyncio.gather(*(self._open(connection, address) for connection in made))

    async def _open(self, connection: BenchConnection, address: str) -> None:
        await connection.open(address, self._task.tls, self._task.timeout_ms / 1000)

    async def run(self) -> EndTold:
        """Sends until the first end is reached, waits for the answers, and tells what it cost."""
        cpu = time.process_time()
        self._began = time.perf_counter() + (self._period_s or 0.0) * self._task.number / max(
            1, self._task.workload.process_count
        )
        self._began_us = time.time_ns() // 1000 - round((time.perf_counter() - self._began) * 1_000_000)
        self._end = self._began + self._task.duration_ms / 1000
        helpers = [asyncio.create_task(self._tick()), asyncio.create_task(self._tell_seconds())]
        self._go_on()
        await self._ended.wait()
        sent_until = time.perf_counter()
        await self._drain()
        busy_s = max(sent_until, self._last_answer) - self._began
        for running in (*helpers, *self._reconnecting):
            running.cancel()
        self._tell(self._recorder.take(self._second))
        connections = [connection for made in self._connections.values() for connection in made]
        connects = [connection.connect_s for connection in connections if connection.connect_s is not None]
        await asyncio.gather(*(connection.close(self._task.timeout_ms / 1000) for connection in connections))
        return EndTold(
            ended_by=self._ended_by,
            busy_s=busy_s,
            cpu_s=time.process_time() - cpu,
            blocked_s=max((connection.blocked_s for connection in connections), default=0.0),
            connect_ms=min(connects) * 1000 if connects else None,
        )

    def stop(self, why: str) -> None:
        """Ends the sends; what is under way is still waited for."""
        if self._ended_by:
            return
        self._ended_by = why
        if self._timer is not None:
            self._timer.cancel()
        self._count_missed()
        self._ended.set()

    # SendLoop

    def _go_on(self) -> None:
        """Sends all that may be sent now."""
        if self._ended_by:
            return
        now = time.perf_counter()
        if now >= self._end:
            self.stop("duration")
            return
        burst = 0
        touched: set[BenchConnection] = set()
        while not self._ended_by and (self._oneway or len(self._pending) < self._most):
            due = self._next_due()
            if due > now or burst >= _ONEWAY_BURST:
                break
            if self._quota_used():
                break
            placed = self._place()
            if placed is None:
                break
            lane, connection = placed
            self._send(lane, connection, due if self._period_s is not None else now)
            touched.add(connection)
            burst += self._oneway
        for connection in touched:
            connection.flush()
        self._set_timer(burst)

    def _set_timer(self, burst: int) -> None:
        if self._ended_by or self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if self._oneway and self._period_s is None:
            delay_s = 0.0 if burst else _FINEST_S
        elif self._period_s is not None and (self._oneway or len(self._pending) < self._most):
            delay_s = max(self._next_due() - time.perf_counter(), _FINEST_S)
        else:
            return  # an answer, or the sweep, goes on
        self._timer = loop.call_later(delay_s, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._go_on()

    def _next_due(self) -> float:
        return self._began + self._made * self._period_s if self._period_s is not None else 0.0

    def _quota_used(self) -> bool:
        task = self._task
        if self._made_messages + self._batch > task.max_messages:
            self.stop("count")
        elif self._made_bytes >= task.max_bytes:
            self.stop("quota")
        return bool(self._ended_by)

    def _place(self) -> tuple[int, BenchConnection] | None:
        """Returns the next queue that can be sent to (FIFO: whose last send is answered), and its connection."""
        lanes = self._free if self._fifo else self._task.queues
        for _ in range(len(lanes)):
            if self._fifo:
                lane = self._free.popleft()
            else:
                lane = self._turn % len(lanes)
                self._turn += 1
            made = self._connections[self._task.queues[lane][0]]
            connection = made[(lane if self._fifo else self._turn // len(lanes)) % len(made)]
            if connection.is_up and not connection.is_blocked:
                return lane, connection
            if self._fifo:
                self._free.append(lane)
        return None

    def _send(self, lane: int, connection: BenchConnection, due: float) -> None:
        self._opaque = opaque = (self._opaque + 1) & 0x7FFFFFFF
        due_us = self._began_us + round((due - self._began) * 1_000_000)
        frame, unique_id, size = self._frames.make(opaque, self._task.queues[lane], due_us, self._key_of(lane))
        connection.send(frame)
        self._made += 1
        self._made_messages += self._batch
        self._made_bytes += size
        if self._oneway:
            self._recorder.sent(self._batch, size)
            if self._fifo:
                self._free.append(lane)
        else:
            self._pending[opaque] = _Pending(due, time.perf_counter(), lane, size, unique_id, connection)

    def _own_lanes(self) -> range:
        """Returns the queues that this process alone sends to in order; key k goes to queue k modulo their number."""
        lanes = min(len(self._task.queues), self._task.workload.key_count)
        return range(self._task.number, lanes, self._task.workload.process_count)

    def _key_of(self, lane: int) -> int | None:
        """Returns the number of a key that belongs to a FIFO queue; None lets any be taken."""
        if not self._fifo:
            return None
        return self._random.choice(range(lane, self._task.workload.key_count, len(self._task.queues)))

    # Answers

    def _answered(self, connection: BenchConnection, answers: Sequence[RemotingCommand]) -> None:
        self._last_answer = now = time.perf_counter()
        for answer in answers:
            pending = self._pending.pop(answer.opaque, None) if answer.is_response else None
            if pending is None:
                continue
            if self._fifo:
                self._free.append(pending.lane)
            if answer.code not in SEND_RESULTS:
                self._recorder.failed(str(answer.code), answer.remark or "", None)
                continue
            if answer.code:
                self._recorder.failed(
                    str(answer.code),
                    sentence("bench-stored-less-safely", "stored, but not as safely as configured"),
                    None,
                )
            if self._ender is not None:
                self._end_transaction(pending, answer)
            self._recorder.answered(now - pending.due, now - pending.sent, self._batch, pending.size_bytes)
        self._go_on()

    def _end_transaction(self, pending: _Pending, answer: RemotingCommand) -> None:
        assert self._ender is not None
        try:
            ending = HalfStored(pending.connection.broker_name, pending.unique_id, answer)
            pending.connection.send(self._ender.frame(ending))
            pending.connection.flush()
        except MqctlError as error:
            self._recorder.failed("NOT_ENDED", str(error), None)

    def _lost(self, connection: BenchConnection, reason: str) -> None:
        now = time.perf_counter()
        for opaque in [opaque for opaque, item in self._pending.items() if item.connection is connection]:
            self._forget(opaque, "CONNECTION", reason, now)
        if not self._ended_by:
            running = asyncio.get_running_loop().create_task(self._reconnect(connection))
            self._reconnecting.add(running)
            running.add_done_callback(self._reconnecting.discard)

    async def _reconnect(self, connection: BenchConnection) -> None:
        address = self._task.addresses[connection.broker_name]
        while not self._ended_by:
            await asyncio.sleep(_RECONNECT_S)
            try:
                await self._open(connection, address)
            except (OSError, MqctlError):
                continue
            self._go_on()
            return

    def _forget(self, opaque: int, name: str, reason: str, now: float) -> None:
        pending = self._pending.pop(opaque)
        if self._fifo:
            self._free.append(pending.lane)
        self._recorder.failed(name, reason, now - pending.due)

    def _sweep(self, *, limit_s: float) -> None:
        now = time.perf_counter()
        while self._pending:
            opaque, oldest = next(iter(self._pending.items()))
            if now - oldest.sent < limit_s:
                break
            self._forget(
                opaque,
                "TIMEOUT",
                sentence("client-no-answer-within-ms", "no answer within {limit_ms}", limit_ms=round(limit_s * 1000)),
                now,
            )

    # Time

    async def _tell_seconds(self) -> None:
        while True:
            await asyncio.sleep(self._began + self._second + 1 - time.perf_counter())
            if time.perf_counter() >= self._end:
                return  # the last one takes in the answers that are waited for
            self._tell(self._recorder.take(self._second))
            self._second += 1

    async def _tick(self) -> None:
        """Ends sends that were not answered in time, and the run when its time is up."""
        while True:
            await asyncio.sleep(max(0.0, min(_SWEEP_S, self._end - time.perf_counter())))
            self._sweep(limit_s=self._task.timeout_ms / 1000)
            self._go_on()
            if self._ended_by:
                await asyncio.sleep(_SWEEP_S)

    async def _drain(self) -> None:
        limit = time.perf_counter() + self._task.timeout_ms / 1000
        while self._pending and time.perf_counter() < limit:
            await asyncio.sleep(0.01)
        self._sweep(limit_s=0)

    def _count_missed(self) -> None:
        """Counts what the schedule had due before the end and there was no room to send."""
        if self._period_s is None or self._ended_by not in ("duration", "interrupt"):
            return
        now = min(time.perf_counter(), self._end)
        missed = 0
        while (due := self._began + (self._made + missed) * self._period_s) < now - _FINEST_S:
            self._recorder.failed(
                "NOT_SENT",
                sentence("bench-due-no-room", "it was due, but there was no room among the requests in flight"),
                now - due,
            )
            missed += 1
