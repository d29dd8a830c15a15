"""One queue inside a consumer: what was pulled and is not finished.

Source: `ProcessQueue` of 4.9.8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from threading import Condition, Lock

from mqctl.client.message.received import ReceivedMessage
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ProcessQueueInfo

_MIB = 1024 * 1024


class ListenerGate:
    """Counts the listener calls of one queue; whoever gives the queue away waits until there are none."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._closed = False

    def enter(self) -> bool:
        """Begins a listener call; False when the queue has been given away."""
        with self._changed:
            if self._closed:
                return False
            self._inside += 1
            return True

    def leave(self) -> None:
        """Ends a listener call."""
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Lets no call begin any more if none runs by the timeout; False when one still does."""
        with self._changed:
            if self._changed.wait_for(lambda: not self._inside, timeout_s):
                self._closed = True
            return self._closed


class ProcessQueue:
    """The messages of one queue between broker and listener. Times are milliseconds of the client's clock.

    Attributes:
        dropped: the queue belongs to another member; nothing is committed for it any more.
        locked: its broker has it locked for this client (orderly, key-ordered).
        consuming: a consume request is under way (orderly).
        gate: held open by listener calls.
    """

    def __init__(self, queue: MessageQueue, now_ms: int) -> None:
        self.queue = queue
        self.dropped = False
        self.locked = False
        self.consuming = False
        self.gate = ListenerGate()
        self.last_lock_ms = now_ms
        self.last_pull_ms = now_ms
        self.last_consume_ms = now_ms
        self.try_unlock_times = 0
        self._lock = Lock()
        self._messages: dict[int, ReceivedMessage] = {}
        self._order: deque[int] = deque()
        self._taken: dict[int, ReceivedMessage] = {}
        self._bytes = 0
        self._next_offset = -1

    # What is there

    @property
    def count(self) -> int:
        """Messages cached, those with the listener included."""
        return len(self._messages) + len(self._taken)

    @property
    def size_bytes(self) -> int:
        """Bytes of the bodies cached."""
        return self._bytes

    @property
    def span(self) -> int:
        """Distance between the smallest and the largest queue offset cached."""
        with self._lock:
            while self._order and self._order[-1] not in self._messages:
                self._order.pop()
            return self._order[-1] - self._order[0] if self._order else 0

    @property
    def reach(self) -> int:
        """Distance between the smallest unfinished queue offset and the last one pulled."""
        with self._lock:
            return self._next_offset - 1 - self._order[0] if self._order else 0

    def head(self) -> ReceivedMessage | None:
        """Returns the message with the smallest queue offset."""
        with self._lock:
            return self._messages[self._order[0]] if self._order else None

    def is_lock_expired(self, now_ms: int, valid_ms: int) -> bool:
        """Tells whether the lock was not renewed in time."""
        return now_ms - self.last_lock_ms > valid_ms

    # Concurrent and key-ordered: remove what is finished

    def put(self, messages: Iterable[ReceivedMessage]) -> None:
        """Adds messages that were pulled."""
        with self._lock:
            for message in messages:
                offset = message.queue_offset
                if offset in self._messages:
                    continue
                if self._order and offset < self._order[-1]:
                    self._insert(offset)
                else:
                    self._order.append(offset)
                self._messages[offset] = message
                self._bytes += len(message.stored.body)
                self._next_offset = max(self._next_offset, offset + 1)

    def _insert(self, offset: int) -> None:
        ordered = sorted((*self._order, offset))
        self._order = deque(ordered)

    def remove(self, messages: Iterable[ReceivedMessage]) -> int | None:
        """Forgets finished messages and returns the offset to commit: the smallest unfinished, or the next one.

        None when nothing was cached any more.
        """
        with self._lock:
            if not self._messages:
                return None
            for message in messages:
                if self._messages.pop(message.queue_offset, None) is not None:
                    self._bytes -= len(message.stored.body)
            return self._smallest()

    def _smallest(self) -> int:
        order = self._order
        while order and order[0] not in self._messages:
            order.popleft()
        return order[0] if order else self._next_offset

    # Orderly: take, then commit or put back

    def take(self, limit: int) -> list[ReceivedMessage]:
        """Moves the first messages to the listener's side."""
        with self._lock:
            taken: list[ReceivedMessage] = []
            while len(taken) < limit and self._order:
                message = self._messages.pop(self._order.popleft(), None)
                if message is not None:
                    self._taken[message.queue_offset] = message
                    taken.append(message)
            if not taken:
                self.consuming = False
            return taken

    def commit(self) -> int | None:
        """Finishes everything on the listener's side; returns the offset to commit, None when nothing was there."""
        with self._lock:
            if not self._taken:
                return None
            offset = max(self._taken) + 1
            self._bytes -= sum(len(message.stored.body) for message in self._taken.values())
            self._taken.clear()
            return offset

    def put_back(self, messages: Sequence[ReceivedMessage]) -> None:
        """Returns messages from the listener's side to the head of the queue."""
        with self._lock:
            for message in sorted(messages, key=lambda item: item.queue_offset, reverse=True):
                if self._taken.pop(message.queue_offset, None) is not None:
                    self._messages[message.queue_offset] = message
                    self._order.appendleft(message.queue_offset)

    def put_all_back(self) -> None:
        """Returns everything from the listener's side."""
        self.put_back(list(self._taken.values()))

    def claim(self) -> bool:
        """Marks the queue as being consumed; False when it is already, or nothing is there."""
        with self._lock:
            if self.consuming or not self._messages:
                return False
            self.consuming = True
            return True

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._messages.clear()
            self._order.clear()
            self._taken.clear()
            self._bytes = 0
            self.consuming = False

    def info(self, commit_offset: int) -> ProcessQueueInfo:
        """Returns the state that running information shows."""
        with self._lock:
            cached, taken = list(self._messages), list(self._taken)
            return ProcessQueueInfo(
                commit_offset=commit_offset,
                cached_msg_min_offset=min(cached, default=0),
                cached_msg_max_offset=max(cached, default=0),
                cached_msg_count=len(cached),
                cached_msg_size_in_mib=self._bytes // _MIB,
                transaction_msg_min_offset=min(taken, default=0),
                transaction_msg_max_offset=max(taken, default=0),
                transaction_msg_count=len(taken),
                locked=self.locked,
                try_unlock_times=self.try_unlock_times,
                last_lock_timestamp=self.last_lock_ms,
                dropped=self.dropped,
                last_pull_timestamp=self.last_pull_ms,
                last_consume_timestamp=self.last_consume_ms,
            )
