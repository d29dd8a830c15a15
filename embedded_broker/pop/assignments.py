"""Which queues a client has when the broker says so (`QueryAssignmentProcessor` of 5.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.pop.ground import Ground
from embedded_broker.pop.polls import ALL_QUEUES
from embedded_broker.tables.persistence import ConfigFile
from mqctl.allocation.strategies import AllocationError, Average, AverageByCircle, Strategy
from mqctl.errors import BadInputError
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import QueueData, TopicRouteData
from mqctl.protocol.bodies_pop import (
    POP,
    PULL,
    AssignmentQuery,
    MessageRequestMode,
    MessageRequestModes,
)
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import GetRouteInfo
from mqctl.store.config_files import REQUEST_MODES, read_config

if TYPE_CHECKING:
    from embedded_broker.clock import Clock

_BROADCASTING = "BROADCASTING"
_ROUTE_MS = 30_000
_READABLE = 4
_STRATEGIES: dict[str, Strategy] = {strategy.name: strategy for strategy in (Average(), AverageByCircle())}
_PORTION = 512
Queues = Generator[None, None, list[MessageQueue] | None]
"""Work that ends with the queues of a client."""


class RequestModes:
    """Who pops and who pulls, by topic and group; persisted at every change."""

    def __init__(self, clock: Clock, directory: Path) -> None:
        try:
            stored = MessageRequestModes.from_json(read_config(directory, REQUEST_MODES).value)
        except BadInputError:
            stored = MessageRequestModes()
        self._modes = {(mode.topic, mode.consumer_group): mode for mode in stored}
        self.file = ConfigFile(directory, REQUEST_MODES, clock, self._document, lambda: len(self._modes))

    def _document(self) -> object:
        return self.table().to_json(is_v5=True)

    def table(self) -> MessageRequestModes:
        """Returns all that was set, as code 402 answers it."""
        table: dict[str, dict[str, MessageRequestMode]] = {}
        for (topic, group), mode in self._modes.items():
            table.setdefault(topic, {})[group] = mode
        return MessageRequestModes(message_request_mode_map=table)

    def put(self, mode: MessageRequestMode) -> None:
        """Sets one."""
        self._modes[mode.topic, mode.consumer_group] = mode
        self.file.changed()

    def replace_all(self, modes: MessageRequestModes) -> None:
        """Takes another broker's table, whole."""
        self._modes = {(mode.topic, mode.consumer_group): mode for mode in modes}
        self.file.mark()

    def find(self, topic: str, group: str) -> MessageRequestMode | None:
        """Returns what was set."""
        return self._modes.get((topic, group))


class Routes:
    """The queues of topics as the name servers know them, asked for when they are needed."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[str, tuple[int, tuple[QueueData, ...]]] = {}

    def readable(self, topic: str, use: Callable[[tuple[QueueData, ...]], None]) -> None:
        """Calls `use` with what can be read of a topic, broker by broker; with none, where no name server knows it."""
        now_ms = self._ground.clock.now_ms()
        known = self._known.get(topic)
        if known is not None and known[1] and now_ms - known[0] < _ROUTE_MS:
            use(known[1])
            return

        def answered(answer: RemotingCommand | None) -> None:
            queues = () if answer is None or answer.code else _readable(answer.body)
            if answer is not None:
                self._known[topic] = (now_ms, queues)
            use(queues or (known[1] if known is not None and answer is None else ()))

        self._ground.ask(GetRouteInfo(topic=topic, accept_standard_json_only=True), answered)


def _readable(body: bytes) -> tuple[QueueData, ...]:
    try:
        route = TopicRouteData.from_bytes(body)
    except BadInputError:
        return ()
    readable = (data for data in route.queue_datas if data.perm & _READABLE and data.read_queue_nums)
    return tuple(sorted(readable, key=lambda data: data.broker_name))


def assigned(ground: Ground, mode: str, share: int, query: AssignmentQuery, readable: Sequence[QueueData]) -> Queues:
    """Returns the queues of a client, None where the broker cannot say; pauses between portions of many.

    Args:
        mode: that of the group on the topic; `share`: with how many a client shares what it pops.
        readable: what can be read of the topic, brokers in their order.
    """
    ordered: list[MessageQueue] = []  # as clients sort them
    for data in readable:
        for number in range(data.read_queue_nums):
            ordered.append(MessageQueue(query.topic, data.broker_name, number))
            if not number % _PORTION:
                yield
    if not ordered:
        return None
    if query.message_model == _BROADCASTING or not ground.settings.server_load_balancer_enable:
        return ordered
    group = ground.clients.consumers.get(query.consumer_group)
    strategy = _STRATEGIES.get(query.strategy_name)
    if group is None or strategy is None:
        return None
    clients = sorted(group.client_ids())
    try:
        if mode == POP:
            return _shared(strategy, query.client_id, ordered, clients, share)
        return strategy.allocate(query.client_id, ordered, clients)
    except AllocationError:
        return None


def mode_of(ground: Ground, modes: RequestModes, query: AssignmentQuery) -> MessageRequestMode:
    """Returns how a group consumes a topic: as was set, or as the broker's settings have it."""
    known = modes.find(query.topic, query.consumer_group)
    if known is not None:
        return known
    settings = ground.settings
    retries = query.topic.startswith(RETRY_PREFIX)
    return MessageRequestMode(
        topic=query.topic,
        consumer_group=query.consumer_group,
        mode=PULL if retries else settings.default_message_request_mode,
        pop_share_queue_num=settings.default_pop_share_queue_num,
    )


def _shared(
    strategy: Strategy, client_id: str, queues: list[MessageQueue], clients: list[str], share: int
) -> list[MessageQueue]:
    """Returns what a client pops: everything, or its own queues and those of the next `share` clients."""
    if share <= 0 or share >= len(clients) - 1:
        brokers = dict.fromkeys((queue.topic, queue.broker_name) for queue in queues)
        return [MessageQueue(topic, broker, ALL_QUEUES) for topic, broker in brokers]
    if client_id not in clients:
        return []
    index = clients.index(client_id)
    if len(clients) > len(queues):
        return [queues[index % len(queues)]]
    sharing = [clients[(index + number) % len(clients)] for number in range(share + 1)]
    shared = (queue for client in sharing for queue in strategy.allocate(client, queues, clients))
    return list(dict.fromkeys(shared))
