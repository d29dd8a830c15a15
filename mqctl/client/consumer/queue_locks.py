"""Locks of queues on their brokers: taken one by one, renewed together, given back.

Source: `RebalanceImpl.lock`, `lockAll` and `unlockAll` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from mqctl.client.admin.broker_changes import lock_queues, unlock_queues
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.instance import ClientInstance
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockRequest
from mqctl.protocol.requests_client import UnlockBatchMq

LOCK_TIMEOUT_MS = 1_000


class OrderlyLocks:
    """The locks of one group's member."""

    def __init__(
        self, group: str, instance: ClientInstance, process_queues: Mapping[MessageQueue, ProcessQueue]
    ) -> None:
        self._group = group
        self._instance = instance
        self._process_queues = process_queues
        self._held: set[MessageQueue] = set()
        self._turn = Lock()
        self._left = False

    def lock_one(self, queue: MessageQueue) -> bool:
        """Locks one queue; False when another client has it, or its master does not answer."""
        return queue in self._lock(queue.broker_name, (queue,))

    def renew(self) -> None:
        """Locks all queues again; those that are refused are not consumed until it works."""
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in list(self._process_queues):
            by_broker.setdefault(queue.broker_name, []).append(queue)
        for broker_name, queues in by_broker.items():
            self._lock(broker_name, tuple(queues))

    def _lock(self, broker_name: str, queues: tuple[MessageQueue, ...]) -> frozenset[MessageQueue]:
        with self._turn:  # a renewal that overtook the farewell would hold the locks for nobody
            return frozenset() if self._left else self._ask(broker_name, queues)

    def _ask(self, broker_name: str, queues: tuple[MessageQueue, ...]) -> frozenset[MessageQueue]:
        instance = self._instance
        address = instance.routes.master(broker_name)
        if address is None:
            return frozenset()
        question = lock_queues(self._group, instance.client_id, queues)
        try:
            granted = instance.links.ask(address, question, Deadline(LOCK_TIMEOUT_MS))
        except MqctlError as error:
            instance.troubles.add(f"lock queues of {broker_name}", error)
            return frozenset()
        now_ms = instance.clock.now_ms()
        self._held.difference_update(queues)
        self._held.update(granted)
        for queue in queues:
            process_queue = self._process_queues.get(queue)
            if process_queue is not None:
                process_queue.locked = queue in granted
                if process_queue.locked:
                    process_queue.last_lock_ms = now_ms
        return granted

    def unlock_oneway(self, queue: MessageQueue) -> None:
        """Gives one lock back; nothing is said when that does not work."""
        instance = self._instance
        self._held.discard(queue)
        address = instance.routes.master(queue.broker_name)
        if address is not None:
            body = LockRequest(client_id=instance.client_id, consumer_group=self._group, mq_set=(queue,)).to_bytes()
            instance.links.get(address).oneway(UnlockBatchMq(), body=body)

    def unlock_all(self) -> None:
        """Gives all locks back for good, those of queues on their way out as well, and waits for the brokers."""
        instance = self._instance
        with self._turn:
            self._left = True
            held, self._held = self._held, set()
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in sorted(held):
            by_broker.setdefault(queue.broker_name, []).append(queue)
        for broker_name, mine in by_broker.items():
            address = instance.routes.master(broker_name)
            if address is None:
                continue
            question = unlock_queues(self._group, instance.client_id, tuple(mine))
            try:
                instance.links.ask(address, question, Deadline(LOCK_TIMEOUT_MS))
            except MqctlError as error:
                instance.troubles.add(f"unlock queues of {broker_name}", error)
