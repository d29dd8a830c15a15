"""All that a broker process can take: windows of sends that never let up, beside commits, delays, transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import monotonic, time_ns
from types import TracebackType
from typing import Any, Self

from mqctl.protocol.fastjson import loads
from mqctl.protocol.frame import encode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction, GetMaxOffset, UpdateConsumerOffset
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer

TOPIC, GROUP, QUEUES = "Orders", "Reader", 4
FIRST_TRANSACTION = "H0"
FLUSH_MS = 1_000
SETTINGS = (
    "mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=200000",
    f"flushConsumerOffsetInterval={FLUSH_MS}", "transactionTimeOut=600000",
)  # fmt: skip
_WINDOW = 48
_WINDOWS = 64
_JOIN_S = 60.0
_LEVEL = 1
"""One second."""


class Load:
    """Traffic for one broker process.

    Attributes:
        store: its directory.
        namesrv: where its name server listens.
    """

    def __init__(self, ready: dict[str, Any], *, is_v5: bool) -> None:
        self._address = ready["brokers"][0]["address"]
        self.store = Path(ready["brokers"][0]["store"])
        self.namesrv = ready["namesrv"]
        self._is_v5 = is_v5
        self._stop = threading.Event()
        self._commits: list[tuple[float, dict[int, int]]] = [(0.0, dict.fromkeys(range(QUEUES), 0))]
        self._going = dict.fromkeys(range(QUEUES), 0)
        self._failed: list[BaseException] = []
        self._mixed = threading.Event()

    def __enter__(self) -> Self:
        with Peer(self._address) as member:  # of which the broker makes the group
            for queue_id in range(QUEUES):
                assert member.call(_plain(queue_id), b"first").code == 0
            heartbeat(member, "reader@1", group=GROUP, subscriptions={TOPIC: "*"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Works while the block runs."""
        kinds: tuple[Callable[[Peer], None], ...] = (self._flood, self._flood, self._mix)
        workers = [threading.Thread(target=self._work, args=(kind,)) for kind in kinds]
        for worker in workers:
            worker.start()
        self._mixed.wait(_JOIN_S)
        while not self._failed and not all(self.ends().values()):
            continue  # a store without a message of the topic has nothing to say of it
        try:
            yield
        finally:
            self._stop.set()
            for worker in workers:
                worker.join(_JOIN_S)
        if self._failed:
            raise self._failed[0]

    def ends(self) -> dict[int, int]:
        """Returns where the queues of the topic end, as the broker tells it now."""
        with Peer(self._address) as peer:
            return _ends(peer)

    def committed_before(self, age_ms: int) -> dict[int, int]:
        """Returns what was committed that long ago; 0: what may be there by now."""
        if not age_ms:
            return dict(self._going)
        end = monotonic() - age_ms / 1000
        return next(offsets for at, offsets in reversed(self._commits) if at <= end)

    def is_at_rest(self) -> bool:
        """Whether all that was delayed is delivered, and files say what the broker knows."""
        with Peer(self._address) as peer:
            scheduled = peer.call(GetMaxOffset(topic="SCHEDULE_TOPIC_XXXX", queue_id=_LEVEL - 1))
        delayed = _table(self.store / "config" / "delayOffset.json").get(str(_LEVEL), 0)
        committed = _table(self.store / "config" / "consumerOffset.json").get(f"{TOPIC}@{GROUP}", {})
        last = {str(queue): offset for queue, offset in self._commits[-1][1].items()}
        return bool(int(scheduled.ext("offset") or 0) == delayed and committed == last)

    def _work(self, kind: Callable[[Peer], None]) -> None:
        try:
            with Peer(self._address) as peer:
                kind(peer)
        except BaseException as error:
            self._failed.append(error)
            raise

    def _flood(self, peer: Peer) -> None:
        """Keeps a window of sends in flight; bodies are made before, so that this costs the broker's core only."""
        windows = [b"".join(_frame(number * _WINDOW + place) for place in range(_WINDOW)) for number in range(_WINDOWS)]
        for number in count():
            if self._stop.is_set():
                return
            peer.socket.sendall(windows[number % _WINDOWS])
            _take(peer, _WINDOW)

    def _mix(self, peer: Peer) -> None:
        """Commits where the queues end, and sends what ends elsewhere first: delayed, timed, in transactions."""
        for number in count():
            if self._stop.is_set():
                return
            self._commit(peer)
            delayed = {"DELAY": str(_LEVEL), "UNIQ_KEY": f"L{number}"}
            peer.call(send("Later", properties=delayed, born_ms=_now_ms()), b"later")
            if self._is_v5:
                peer.call(send("Timed", properties={"TIMER_DELAY_MS": "1000", "UNIQ_KEY": f"T{number}"}), b"timed")
            self._transaction(peer, number)
            self._mixed.set()

    def _commit(self, peer: Peer) -> None:
        self._going = ends = _ends(peer)
        for queue_id, offset in ends.items():
            peer.call(UpdateConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=queue_id, commit_offset=offset))
        self._commits.append((monotonic(), ends))

    def _transaction(self, peer: Peer, number: int) -> None:
        key, how = f"H{number}", (8, 12)[number % 2]
        properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP"}
        half = peer.call(send("Paid", properties=properties, sys_flag=4, born_ms=_now_ms()), b"paid")
        end = EndTransaction(
            producer_group="GP",
            tran_state_table_offset=int(half.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(half.ext("msgId") or "").physical_offset,
            commit_or_rollback=how,
            msg_id=key,
        )
        peer.call(end)


def _now_ms() -> int:
    return time_ns() // 1_000_000


def _plain(number: int) -> Any:
    properties = {"KEYS": f"k{number % 997}", "TAGS": f"T{number % 5}", "UNIQ_KEY": f"{number:032X}"}
    return send(TOPIC, queue_id=number % QUEUES, queues=QUEUES, properties=properties, born_ms=_now_ms())


def _frame(number: int) -> bytes:
    return encode(_plain(number).command(opaque=number, body=b"x" * (40 + number % 7 * 200)))


def _take(peer: Peer, frames: int) -> None:
    """Reads that many answers, by their lengths alone."""
    pending = b""
    while frames:
        pending += peer.socket.recv(1 << 18)
        while len(pending) >= 4 and len(pending) >= 4 + int.from_bytes(pending[:4], "big"):
            pending = pending[4 + int.from_bytes(pending[:4], "big") :]
            frames -= 1


def _ends(peer: Peer) -> dict[int, int]:
    answers = {queue: peer.call(GetMaxOffset(topic=TOPIC, queue_id=queue)) for queue in range(QUEUES)}
    return {queue: int(answer.ext("offset") or 0) for queue, answer in answers.items()}


def _table(file: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = loads(file.read_bytes())["offsetTable"]  # type: ignore[index]
    except FileNotFoundError:
        return {}
    return {str(key): _keyed(value) for key, value in table.items()}


def _keyed(value: object) -> object:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else value
