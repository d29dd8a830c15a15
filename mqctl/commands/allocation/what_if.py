"""What `allocation simulate` begins with and what it is told to change: options into layouts, rates and strategies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.allocation.carrying import UNKNOWN, Capacity, Mode
from mqctl.allocation.choice import strategy_of
from mqctl.allocation.kafka import KafkaAssignor
from mqctl.allocation.observed import observed_allocation
from mqctl.allocation.rooms import inferred_rule, writable_queues
from mqctl.allocation.simulation import Layout, LayoutChange, NewRoom, numbered_layout
from mqctl.allocation.strategies import Strategy
from mqctl.changes.plan.topic_changes import MAX_QUEUES
from mqctl.cli.sources.groups import nobody_there
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.store.plain_files import read_named
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.cli.sources.snapshot_source import LiveOptions

_NEW_ROOM = re.compile(r"(?P<room>[^=]+)=(?P<brokers>\d+)x(?P<queues>\d+)\+(?P<clients>\d+)")
PLAIN = ("avg", "circle", "hash")
NEAR = ("nearby", "nearby:circle", "nearby:hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a simulation begins.

    Attributes:
        arriving: messages a second by queue, as far as they are known.
        capacities: what each client can pass, as far as known.
        usual: what a client can pass that is not in it, such as one that is added.
        keys: how much of what arrives in a queue is of which key.
        closed: queues that consumers share out and producers do not send to.
        sample: reads the share of each key among the messages of a live topic.
        strategy: what all its instances use, as far as what they hold tells it; else `avg`.
        rule: rooms as the names of its brokers and members tell them.
    """

    layout: Layout
    arriving: Mapping[MessageQueue, float] = field(default_factory=dict)
    capacities: Mapping[str, Capacity] = field(default_factory=dict)
    usual: Capacity = UNKNOWN
    keys: Mapping[MessageQueue, Mapping[str, float]] = field(default_factory=dict)
    closed: frozenset[MessageQueue] = frozenset()
    sample: Callable[[], Mapping[str, float]] | None = None
    strategy: str = "avg"
    rule: RoomRule | None = None

    def open_for_sends(self, layout: Layout) -> Layout:
        """Returns what producers see of a layout."""
        return replace(layout, queues=tuple(queue for queue in layout.queues if queue not in self.closed))

    def consuming(self, mode: Mode | None) -> Beginning:
        """Returns the same group with listeners of another kind, where one is named."""
        if mode is None:
            return self
        changed = {client: replace(capacity, mode=mode) for client, capacity in self.capacities.items()}
        return replace(self, capacities=changed, usual=replace(self.usual, mode=mode))

    @property
    def topic(self) -> str:
        return self.layout.queues[0].topic

    @property
    def total_tps(self) -> float | None:
        """Messages a second in all; None when not known of a queue."""
        known = set(self.layout.queues) <= set(self.arriving)
        return sum(self.arriving[queue] for queue in self.layout.queues) if known else None

    @property
    def usual_queue_count(self) -> int:
        """How many queues of a topic most brokers have."""
        counts = Counter((queue.topic, queue.broker_name) for queue in self.layout.queues)
        return Counter(counts.values()).most_common(1)[0][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a group made of numbers is like beside its queues and clients.

    Attributes:
        wants: the topics of each client that was given with them; the others subscribe to all.
        rooms: names with commas.
        rate: messages a second in all.
        hot_share: so much of the rate is of one key.
    """

    topic: str | None
    wants: Mapping[str, frozenset[str]]
    brokers: int
    rooms: str | None
    rate: float | None
    hot_share: float
    capacity: Capacity

    @property
    def room_names(self) -> tuple[str, ...]:
        return tuple(sorted(names_in(self.rooms), key=(self.rooms or "").index))


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A group made of numbers: queues on each broker, clients in all, brokers in each room, what a client can pass."""

    queues: int
    clients: int | Sequence[str]
    shape: Shape

    def begin(self) -> Beginning:
        """Makes the layout, with rates spread evenly but for the hot key, which lies in the first queue."""
        shape = self.shape
        topics = sorted({name for listed in shape.wants.values() for name in listed} | set(filter(None, [shape.topic])))
        count = self.clients if isinstance(self.clients, int) else len(self.clients)
        made = numbered_layout(
            topics or ["topic"], self.queues, count, broker_count=shape.brokers, rooms=shape.room_names
        )
        clients = made.clients if isinstance(self.clients, int) else tuple(self.clients)
        arriving: dict[MessageQueue, float] = {}
        keys: dict[MessageQueue, dict[str, float]] = {}
        if shape.rate is not None:
            hot = shape.rate * shape.hot_share
            keys = {made.queues[0]: {"hot": hot}}
            arriving = dict.fromkeys(made.queues, shape.rate * (1 - shape.hot_share) / len(made.queues))
            arriving[made.queues[0]] += hot
        layout = Layout(queues=made.queues, clients=clients, wants=shape.wants or None)
        return Beginning(layout=layout, arriving=arriving, keys=keys, usual=shape.capacity)


def numbers_of(queues: int | None, clients: int | Sequence[str] | None, shape: Shape) -> Numbers | None:
    """Returns the numbers that were given; None when a simulation is to begin with a group.

    Raises:
        UsageError: options that belong to numbers are given without them.
    """
    if shape.wants:
        clients = [*shape.wants, *(clients if isinstance(clients, Sequence) else ())]
    capacity = shape.capacity
    if queues is not None and clients is not None:
        if capacity.mode is not Mode.CONCURRENT and capacity.thread_count is None:
            reason = (
                sentence("allocation-each-queue-threads", "each queue is one thread's")
                if capacity.orderly
                else sentence("allocation-each-key-threads", "each key is one thread's")
            )
            raise UsageError(
                sentence("allocation-mode-needs-threads", "--mode {mode} needs --threads", mode=capacity.mode),
                reason=reason,
                remedy=sentence("allocation-add-threads", "add --threads N"),
            )
        return Numbers(queues=queues, clients=clients, shape=shape)
    if queues is not None or clients is not None:
        given, missing = ("--queues", "--clients") if clients is None else ("--clients", "--queues")
        raise UsageError(
            sentence(
                "allocation-begins-numbers-also-needs",
                "{given} begins with numbers, so it also needs {missing}",
                given=given,
                missing=missing,
            ),
            remedy=sentence(
                "allocation-use-both-live-group",
                "use both; with a live group (-g GROUP -t TOPIC) --add-clients N and --queues-each N change it",
            ),
        )
    if shape.rooms or shape.rate is not None or replace(capacity, mode=UNKNOWN.mode) != UNKNOWN:
        raise UsageError(
            sentence(
                "allocation-rooms-rate-capacity-threads",
                "--rooms, --rate, --capacity and --threads need --queues and --clients",
            ),
            remedy=sentence(
                "allocation-use-queues-clients-client",
                "use --queues N and --clients N (or --client ID), or -g GROUP -t TOPIC",
            ),
        )
    return None


def subscriptions_of(texts: Sequence[str]) -> dict[str, frozenset[str]]:
    """Reads `CLIENT=TOPIC[,TOPIC...]` of each client. Raises UsageError."""
    topics_by_client: dict[str, frozenset[str]] = {}
    for text in texts:
        client, _, listed = text.rpartition("=")  # a client id may hold the sign, a topic cannot
        topics = names_in(listed)
        if not client or not topics or client in topics_by_client:
            raise UsageError(
                sentence("allocation-cannot-read-subscriptions", "cannot read the subscriptions {text}", text=text),
                reason=sentence("allocation-client-named-twice", "client {client} is named twice", client=client)
                if client in topics_by_client
                else sentence("allocation-not-client-topic", "it is not CLIENT=TOPIC[,TOPIC]"),
                remedy=sentence(
                    "allocation-write-instance-subscribes-orders",
                    "write for instance --subscribes c1=orders,trades, once for each client",
                ),
            )
        topics_by_client[client] = topics
    return topics_by_client


def assignor_of(words: tuple[str, str] | None) -> KafkaAssignor | None:
    """Reads `kafka range`. Raises UsageError."""
    if words is None:
        return None
    system, name = (word.lower() for word in words)
    names = [str(item) for item in KafkaAssignor]
    if system != "kafka" or name not in names:
        raise UsageError(
            sentence("allocation-cannot-simulate", "cannot simulate as {words}", words=" ".join(words)),
            remedy=sentence("allocation-use", "use {options}", options=[f"--as kafka {item}" for item in names]),
        )
    return KafkaAssignor(name)


def names_in(text: str | None) -> frozenset[str]:
    """Splits a list with commas."""
    return frozenset(filter(None, (text or "").split(",")))


def observed(
    live: LiveOptions, snapshot: Path | None, group: str, topic: str, rule: RoomRule | None = None
) -> Beginning:
    """Begins with a live group or a snapshot, and what its members tell of their speed.

    Args:
        rule: how names tell their room; None reads it from the names, where they agree.

    Raises:
        NotFoundError: no member of the group is online, or there is no such topic.
        UnreachableError, DeadlineError, RefusedError: nobody could tell.
    """
    from mqctl.cli.sources.snapshot_source import read_snapshot

    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    ids = {client for held in state.members_of(group).values() for client in held.client_ids}
    route = state.routes().get(topic)
    if not ids or route is None or not route.readable_queues():
        raise nobody_there(state, group, topic)
    layout = Layout(queues=route.readable_queues(), clients=tuple(sorted(ids)))
    capacities = _capacities(state, group, topic)
    rooms = rule or inferred_rule({queue.broker_name for queue in layout.queues}, ids)
    return Beginning(
        layout=layout,
        arriving=_arriving(state, group, topic, layout),
        capacities=capacities,
        usual=_usual(list(capacities.values())),
        strategy=_strategy_in_use(state, group, topic, rooms),
        rule=rooms,
        closed=frozenset(layout.queues) - frozenset(writable_queues(route)),
    )


def _strategy_in_use(state: ClusterSnapshot, group: str, topic: str, rule: RoomRule | None) -> str:
    allocations = [item for item in observed_allocation(state, group, rule=rule) if item.topic == topic]
    names = {name for item in allocations for name in item.strategies}
    name = names.pop() if len(names) == 1 else "avg"
    try:
        return strategy_of(name, rule).name
    except UsageError:  # one of the application's own, or one that needs lists
        return "avg"


def _capacities(state: ClusterSnapshot, group: str, topic: str) -> dict[str, Capacity]:
    """Reads what members tell of themselves: threads times batch over the time that their listener takes."""
    capacities = {}
    for info in state.running:
        if info.group != group:
            continue
        times = [rates.consume_rt_ms for rates in info.rates if rates.topic == topic and rates.consume_rt_ms > 0]
        batch = decimal(info.properties.get("consumeMessageBatchMaxSize"), high=MOST_INT32) or 1
        tps = (info.thread_count or 0) * batch * 1000 / times[0] if times else None
        capacities[info.client_id] = Capacity(
            tps=tps or None, thread_count=info.thread_count, mode=Mode.of(orderly=bool(info.orderly))
        )
    return capacities


def _usual(capacities: Sequence[Capacity]) -> Capacity:
    """Returns what a client more could pass: the mean of those that tell; as many threads as most have."""
    known = [item.tps for item in capacities if item.tps is not None]
    threads = Counter(item.thread_count for item in capacities if item.thread_count is not None)
    return Capacity(
        tps=sum(known) / len(known) if known else None,
        thread_count=threads.most_common(1)[0][0] if threads else None,
        mode=Mode.of(orderly=any(item.orderly for item in capacities)),
    )


def _arriving(state: ClusterSnapshot, group: str, topic: str, layout: Layout) -> dict[MessageQueue, float]:
    """Measures what arrives between two looks; with one look takes what each member passes now, over its queues."""
    from mqctl.lag.rates import queue_flows
    from mqctl.model.thresholds import Settings

    flows = queue_flows(state, Settings())
    measured = {flow.queue: flow.in_tps for flow in flows if flow.group == group and flow.in_tps is not None}
    if measured or state.earlier is not None:
        return {queue: tps for queue, tps in measured.items() if queue.topic == topic}
    rate_by_queue: dict[MessageQueue, float] = {}
    for info in state.running:
        held = [item.queue for item in info.queues if item.queue.topic == topic and not item.dropped]
        passed = [rates.consume_ok_tps + rates.consume_failed_tps for rates in info.rates if rates.topic == topic]
        if info.group == group and held and passed:
            rate_by_queue |= {queue: passed[0] / len(held) for queue in held}
    return rate_by_queue


Names = tuple[Sequence[str] | None, Sequence[str] | None]


def named_change(change: LayoutChange, *, clients: Names, brokers: Names, start: Beginning) -> LayoutChange:
    """Adds clients and brokers that come and go by name; both pairs are (come, go). Raises UsageError."""
    return replace(
        change,
        join=tuple(clients[0] or ()),
        leave=tuple(clients[1] or ()),
        add_brokers=tuple(new_broker(text, start.usual_queue_count) for text in brokers[0] or ()),
        lose_brokers=tuple(brokers[1] or ()),
    )


def room_change(
    change: LayoutChange, added: Sequence[str] | None, lost: str | None, *, with_brokers: bool
) -> LayoutChange:
    """Adds rooms that come and the one that goes. Raises UsageError."""
    rooms = tuple(map(new_room, added or ()))
    return replace(change, add_rooms=rooms, lose_room=lost, with_brokers=with_brokers)


def new_broker(text: str, usual: int) -> tuple[str, int]:
    """Reads `NAME` or `NAME=QUEUES`. Raises UsageError."""
    name, sign, equals = text.partition("=")
    count = decimal(equals, low=1, high=MAX_QUEUES) if sign else usual
    if not name or count is None:
        raise UsageError(
            sentence("allocation-cannot-read-broker", "cannot read the broker {text}", text=text),
            remedy=sentence("allocation-write-name-queues", "write NAME or NAME=QUEUES"),
        )
    return name, count


def new_room(text: str) -> NewRoom:
    """Reads `ROOM=BROKERSxQUEUES+CLIENTS`. Raises UsageError."""
    match = _NEW_ROOM.fullmatch(text)
    counts = (
        [decimal(match[part], low=1, high=MAX_QUEUES) for part in ("brokers", "queues", "clients")] if match else []
    )
    brokers, queues, clients = counts or (None, None, None)
    if match is None or brokers is None or queues is None or clients is None:
        raise UsageError(
            sentence("allocation-cannot-read-room", "cannot read the room {text}", text=text),
            remedy=sentence(
                "allocation-write-instance-sh-brokers", "write for instance SH=2x8+3: brokers, queues each, clients"
            ),
        )
    return NewRoom(name=match["room"], broker_count=brokers, queue_count=queues, client_count=clients)


def fixed_lists(file: Path | None, topic: str) -> dict[str, list[MessageQueue]] | None:
    """Reads the lists of the strategy CONFIG: client ids, each with queues written `broker/0`.

    Raises:
        UsageError: the file is no such map.
    """
    if file is None:
        return None
    from mqctl.protocol.yaml_text import decode_yaml

    remedy = sentence("allocation-write-holders", "write `client-id: [broker-a/0, broker-a/1]`, one client a line")
    try:
        table = decode_yaml(read_named(file), dict[str, list[str]])
        return {client: [_queue(text, topic) for text in texts] for client, texts in table.items()}
    except (OSError, ValueError) as error:
        raise UsageError(
            sentence("allocation-cannot-read-queues", "cannot read queues from {file}", file=file),
            reason=str(error),
            remedy=remedy,
        ) from error


def _queue(text: str, topic: str) -> MessageQueue:
    broker, _, slash = text.rpartition("/")
    number = decimal(slash, high=MOST_INT32)
    if not broker or number is None:
        raise ValueError(sentence("allocation-no-broker-queue", "{text} is not a broker/queue", text=text))
    return MessageQueue(topic, broker, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """What strategies need to know beyond their name."""

    rule: RoomRule | None
    served: frozenset[str]
    fixed: Mapping[str, Sequence[MessageQueue]] | None

    def named(self, name: str) -> Strategy:
        """Returns the strategy that a name means. Raises UsageError."""
        return strategy_of(name, self.rule, self.served, self.fixed)

    def comparable(self, layout: Layout) -> list[Strategy]:
        """Returns every strategy that can be computed: those of rooms need a rule or rooms, CONFIG its lists."""
        strategies = [self.named(name) for name in (*PLAIN, *(NEAR if self.rule else ()))]
        rooms = self.served or frozenset(
            room for queue in layout.queues if self.rule and (room := self.rule.broker_room(queue.broker_name))
        )
        if rooms:
            strategies.append(strategy_of("room", self.rule, rooms))
        return [*strategies, self.named("config")] if self.fixed is not None else strategies
