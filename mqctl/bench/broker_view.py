"""What the brokers tell of a run themselves: how far the topic grew, and their own gauges, looked at once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from mqctl.cli.connection.target import ClusterTarget
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.bench import BrokerView
from mqctl.model.queue import MessageQueue
from mqctl.model.runtime import BrokerRuntime, read_runtime
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import bounds

N = TypeVar("N", int, float)
_EVERY_S = 1.0
_LOOK_MS = 3_000


class BrokerWatch:
    """Looks at the brokers of a run on a thread of its own. Use as a context manager.

    Args:
        addresses: by broker name.
        queues: those that are written.
    """

    def __init__(self, target: ClusterTarget, addresses: Mapping[str, str], queues: Sequence[MessageQueue]) -> None:
        self._target = target
        self._addresses = addresses
        self._queues = {queue: addresses[queue.broker_name] for queue in queues}
        self._seen: dict[str, list[BrokerRuntime]] = {name: [] for name in addresses}
        self._before: Mapping[MessageQueue, int] = {}
        self._cluster: Cluster | None = None
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> BrokerWatch:
        self._cluster = self._target.open()
        self._before = self._ends()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._cluster is not None:
            self._cluster.close()

    def views(self) -> list[BrokerView]:
        """Returns what was seen so far, and how far the topic has grown."""
        after = self._ends()
        return [self._view(name, after) for name in self._addresses]

    def _view(self, name: str, after: Mapping[MessageQueue, int]) -> BrokerView:
        seen = list(self._seen[name])
        own = [queue for queue in self._queues if queue.broker_name == name]
        is_known = all(queue in self._before and queue in after for queue in own)

        def most(value: Callable[[BrokerRuntime], N | None]) -> N | None:
            return max((number for item in seen if (number := value(item)) is not None), default=None)

        return BrokerView(
            broker_name=name,
            version=seen[-1].version if seen else None,
            stored_count=sum(after[queue] - self._before[queue] for queue in own) if is_known else None,
            put_tps_max=most(lambda item: item.put_tps.newest),
            get_tps_max=most(lambda item: item.get_tps.newest),
            send_wait_max_ms=most(lambda item: item.sends.head_wait_ms),
            send_queue_max=most(lambda item: item.sends.count),
            page_cache_lock_max_ms=most(lambda item: item.page_cache_lock_ms),
            sample_count=len(seen),
        )

    def _ends(self) -> Mapping[MessageQueue, int]:
        assert self._cluster is not None
        asking = Asking(self._cluster, Deadline(_LOOK_MS))
        return {queue: end for queue, (_, end) in bounds(asking, self._queues).items()}

    def _watch(self) -> None:
        assert self._cluster is not None
        begins = monotonic()
        while not self._ended.wait(max(0.0, begins - monotonic())):
            begins = monotonic() + _EVERY_S
            for name, address in self._addresses.items():
                try:
                    table = self._cluster.ask(address, ask.runtime_info(), Deadline(_LOOK_MS)).table
                except MqctlError:
                    continue  # sample_count tells how often it answered
                self._seen[name].append(read_runtime(table))
