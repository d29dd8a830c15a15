"""Rebalancing: which queues are ours, by the same rule as every other member's.

Source: `RebalanceImpl`, `RebalancePushImpl` and `RebalanceService` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import choice
from threading import Event, Lock, Thread, current_thread
from typing import Protocol

from mqctl.allocation.strategies import Strategy
from mqctl.allocation.views import sorted_clients, sorted_queues
from mqctl.client.admin.broker_queries import consumer_ids
from mqctl.client.consumer.consumer_settings import ConsumerSettings
from mqctl.client.consumer.offset_store import OffsetStore
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.queue_locks import LOCK_TIMEOUT_MS, OrderlyLocks
from mqctl.client.instance import ClientInstance
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.queue import MessageQueue


class Owner(Protocol):
    """The consumer whose queues these are."""

    def start_offset(self, queue: MessageQueue) -> int:
        """Computes where to begin. Raises MqctlError when it cannot be learnt now."""

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        """Begins to pull."""

    def assignment_changed(self, topic: str) -> None:
        """Told when the queues of a topic have changed."""


class Rebalancing:
    """The queues of one member, and the thread that keeps them right.

    Attributes:
        process_queues: the queues that are ours now, and those on their way out.
        assigned: asks a broker which queues of a topic are ours instead of computing it; None when it cannot say.
    """

    def __init__(
        self,
        group: str,
        instance: ClientInstance,
        settings: ConsumerSettings,
        *,
        offsets: OffsetStore,
        strategy: Strategy,
        owner: Owner,
        ordered: bool,
        topics: Mapping[str, object],
    ) -> None:
        self._group = group
        self._instance = instance
        self._settings = settings
        self._offsets = offsets
        self._strategy = strategy
        self._owner = owner
        self._locking = ordered and not settings.broadcasting
        self._topics = topics
        self.process_queues: dict[MessageQueue, ProcessQueue] = {}
        self.locks = OrderlyLocks(group, instance, self.process_queues)
        self.assigned: Callable[[str], set[MessageQueue] | None] | None = None
        self._wake = Event()
        self._closed = False
        self._turn = Lock()
        self._thread = Thread(target=self._run, name="RebalanceService", daemon=True)

    def start(self) -> None:
        """Starts the thread; it looks at once."""
        self._wake.set()
        self._thread.start()

    def wake(self) -> None:
        """Has the thread look now."""
        self._wake.set()

    def close(self) -> None:
        """Ends the thread; the queues stay as they are."""
        self._closed = True
        self._wake.set()
        if self._thread is not current_thread() and self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        period_s = self._instance.clock.seconds(self._settings.rebalance_period_ms)
        while not self._closed:
            self._wake.wait(period_s)
            self._wake.clear()
            if not self._closed:
                self.rebalance()

    def rebalance(self) -> None:
        """Looks at every topic; what cannot be learnt keeps its queues until the next time."""
        with self._turn:
            for topic in sorted(self._topics):
                try:
                    self._rebalance_topic(topic)
                except MqctlError as error:
                    self._instance.troubles.add(f"rebalance {topic}", error)
            for queue in [queue for queue in self.process_queues if queue.topic not in self._topics]:
                self._drop(queue)

    def _rebalance_topic(self, topic: str) -> None:
        mine = self._computed(topic) if self.assigned is None else self.assigned(topic)
        if mine is not None and self._apply(topic, mine):
            self._owner.assignment_changed(topic)

    def _computed(self, topic: str) -> set[MessageQueue] | None:
        queues = sorted_queues(self._instance.routes.to_subscribe(topic))
        if self._settings.broadcasting:
            return set(queues)
        ids = self._member_ids(topic) if queues else ()
        if not ids:
            return None
        return set(self._strategy.allocate(self._instance.client_id, queues, sorted_clients(ids)))

    def _member_ids(self, topic: str) -> tuple[str, ...]:
        route = self._instance.routes.route(topic)
        if route is None or not route.broker_datas:
            return ()
        addresses = choice(route.broker_datas).broker_addrs
        address = addresses.get(0) or choice(list(addresses.values()))
        deadline = Deadline(self._instance.settings.api_timeout_ms)
        return self._instance.links.ask(address, consumer_ids(self._group), deadline)

    def _apply(self, topic: str, mine: set[MessageQueue]) -> bool:
        changed = False
        now_ms = self._instance.clock.now_ms()
        for queue, process_queue in list(self.process_queues.items()):
            if queue.topic != topic:
                continue
            stale = now_ms - process_queue.last_pull_ms > self._settings.pull_expiry_ms
            on_its_way_out = process_queue.try_unlock_times > 0
            if (queue not in mine or stale or on_its_way_out) and self._drop(queue):
                changed = True
        for queue in sorted(mine):
            if queue not in self.process_queues and self._add(queue):
                changed = True
        return changed

    def _add(self, queue: MessageQueue) -> bool:
        if self._locking and not self.locks.lock_one(queue):
            return False
        self._offsets.forget(queue)
        try:
            offset = self._owner.start_offset(queue)
        except MqctlError as error:
            self._instance.troubles.add(f"begin with {queue}", error)
            offset = -1
        if offset < 0 or self._closed:
            if self._locking:
                self.locks.unlock_oneway(queue)
            return False
        process_queue = ProcessQueue(queue, self._instance.clock.now_ms())
        process_queue.locked = True
        self.process_queues[queue] = process_queue
        self._owner.begin(process_queue, offset)
        return True

    def _drop(self, queue: MessageQueue) -> bool:
        """Gives a queue up; False while an ordered listener still works on it."""
        process_queue = self.process_queues[queue]
        process_queue.dropped = True
        self._offsets.persist_one(queue)
        self._offsets.forget(queue)
        if self._locking:
            if not process_queue.gate.close(LOCK_TIMEOUT_MS / 1000):
                process_queue.try_unlock_times += 1
                return False
            if process_queue.count:
                delay_ms = self._settings.unlock_delay_ms
                unlock = self.locks.unlock_oneway
                self._instance.timers.after(delay_ms, f"unlock {queue}", lambda: unlock(queue))
            else:
                self.locks.unlock_oneway(queue)
        self.process_queues.pop(queue, None)
        return True

    def take_out(self, queue: MessageQueue) -> None:
        """Removes a queue whose offset was set from outside; the next rebalance adds it with that offset."""
        with self._turn:
            if queue in self.process_queues:
                self._drop(queue)
        self.wake()

    def take_exactly(self, queues: set[MessageQueue]) -> None:
        """Takes these queues and no others, whatever the rest of the group does."""
        with self._turn:
            for queue in [queue for queue in self.process_queues if queue not in queues]:
                self._drop(queue)
            for queue in sorted(queues):
                if queue not in self.process_queues:
                    self._add(queue)

    def replace(self, queue: MessageQueue, offset: int) -> bool:
        """Begins anew with a queue that is ours, from another offset; False when it is not ours."""
        with self._turn:
            known = self.process_queues.get(queue)
            if known is None or known.dropped:
                return False
            known.dropped = True
            process_queue = ProcessQueue(queue, self._instance.clock.now_ms())
            process_queue.locked = known.locked
            self.process_queues[queue] = process_queue
        self._owner.begin(process_queue, offset)
        return True

    def drop_all(self) -> None:
        """Marks all queues as given up, at the end of a consumer's life."""
        for process_queue in self.process_queues.values():
            process_queue.dropped = True
