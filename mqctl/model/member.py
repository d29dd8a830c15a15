"""Consumers and producers of a group, as brokers see them and as they describe themselves.

None means not known; it never means zero. Times are epoch milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from itertools import chain

from mqctl.model.column import CellKind, column
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.text import joined, sentence

_STRATEGIES = {
    "AllocateMessageQueueAveragely": "AVG",
    "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    "AllocateMessageQueueByConfig": "CONFIG",
    "AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
    "AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
    "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
}
# ClientId of rocketmq-clients: host, pid, number within the process, nano time to the base of 36.
_GRPC_CLIENT = re.compile(r"[^@]+@\d+@\d+@[0-9a-z]+")
POP = "CONSUME_POP"
PULL, PUSH = "CONSUME_ACTIVELY", "CONSUME_PASSIVELY"
_THREADS_ERROR = 0.5


def is_grpc_client(client_id: str) -> bool:
    """Tells whether a client speaks gRPC to a proxy: its id has four parts."""
    return _GRPC_CLIENT.fullmatch(client_id) is not None


class MessageModel(StrEnum):
    """Whether the instances of a group share the messages or each get them all."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


KNOWN_KINDS: Mapping[str, frozenset[str]] = {
    "messageModel": frozenset(MessageModel),
    "consumeType": frozenset({PULL, PUSH, POP}),
    "expressionType": frozenset({"TAG", "SQL92"}),
    "mode": frozenset({"PULL", "POP"}),
}
"""How brokers describe members, by the field, with the values that are known. A group of another kind is not judged:
light consumers of 5.5.0 (LITE_SELECTIVE), for instance, take what no rule knows yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one instance, or a broker for a whole group, wants of a topic.

    Attributes:
        expression: as given, `*` for everything.
        expression_type: `TAG` or `SQL92`.
        tags: tags of a TAG expression, sorted; empty means every message.
        version_ms: time of the subscription; a broker keeps the highest it has heard.
    """

    topic: str = field(metadata=column("topic"))
    expression: str = field(default="*", metadata=column("expression"))
    expression_type: str = field(default="TAG", metadata=column("type"))
    tags: tuple[str, ...] = ()
    version_ms: int = field(default=0, metadata=column("since", CellKind.TIME_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One connection of a group.

    Attributes:
        client_id: `ip@instanceName`, with a unit name where one is set. Not unique where it should be.
        address: `ip:port` of the connection.
        version: ordinal of the client's release.
        last_heartbeat_ms: only told of producers.
    """

    client_id: str
    address: str
    language: str | None = None
    version: int | None = None
    last_heartbeat_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembership:
    """A consumer group as one broker sees it.

    Attributes:
        client_ids: as request 38 answers: what rebalancing uses. Unsorted, duplicates kept.
        members: connections, as request 203 answers.
        subscriptions: what this broker filters by: the last heartbeat's.
        popped_topics: those that the broker declares as consumed by POP (5.x, request 402).
        unplaced_queues: topic and queue id where the broker has no offset to answer (request 14): a consumer begins
            where `consume_from_where` says. Asked of queues with all their messages, and no committed offset.
        proxied: client ids that no broker knows, and the address of the proxy that does.
        unknown_kinds: fields of `KNOWN_KINDS` with values that are not among them.
    """

    group: str
    client_ids: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    consume_type: str | None = None
    message_model: MessageModel | None = None
    consume_from_where: str | None = None
    subscriptions: tuple[Subscription, ...] = ()
    popped_topics: tuple[str, ...] = ()
    unplaced_queues: tuple[tuple[str, int], ...] = ()
    proxied: Mapping[str, str] = field(default_factory=dict)
    unknown_kinds: Mapping[str, str] = field(default_factory=dict)

    def known_to(self, broker: str) -> str:
        """Returns who knows the members: the broker that holds the group, or else proxies."""
        if not self.proxied or any(client not in self.proxied for client in self.client_ids):
            return broker
        return joined(
            ", ",
            (sentence("common-proxy", "proxy {proxy}", proxy=address) for address in sorted({*self.proxied.values()})),
        )


def consume_mode(memberships: Iterable[GroupMembership]) -> str | None:
    """Returns how a group consumes what it subscribes to, `POP` or `PULL`, both where it differs; None unless known.

    Proxies have no mode set for what they pop, and register their groups as such.
    """
    modes = {
        "POP" if entry.topic in item.popped_topics or item.consume_type == POP else "PULL"
        for item in memberships
        for entry in item.subscriptions
        if not entry.topic.startswith(RETRY_PREFIX)
    }
    return ", ".join(sorted(modes)) or None


def broadcasting_groups(memberships: Iterable[GroupMembership]) -> set[str]:
    """Returns the groups all of whose members broadcast, as far as brokers know them: they keep their offsets
    themselves, and offsets at brokers say nothing of how far they are."""
    models: dict[str, set[MessageModel | None]] = {}
    for entry in memberships:
        if entry.client_ids:
            models.setdefault(entry.group, set()).add(entry.message_model)
    return {group for group, seen in models.items() if seen == {MessageModel.BROADCASTING}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMembership:
    """A producer group as one broker sees it."""

    group: str
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldQueue:
    """A queue inside a consumer: what it pulled, what it holds, when it last moved.

    Attributes:
        commit_offset: as the consumer has it in memory.
        cached_count, cached_mib: pulled and not yet consumed.
        transaction_count: handed to an orderly listener and not yet committed.
        dropped: the consumer gave the queue up.
    """

    queue: MessageQueue
    commit_offset: int
    cached_min_offset: int = 0
    cached_max_offset: int = 0
    cached_count: int = 0
    cached_mib: int = 0
    transaction_min_offset: int = 0
    transaction_max_offset: int = 0
    transaction_count: int = 0
    locked: bool = False
    try_unlock_count: int = 0
    last_lock_time_ms: int = 0
    last_pull_time_ms: int = 0
    last_consume_time_ms: int = 0
    dropped: bool = False

    @property
    def first_held_offset(self) -> int | None:
        """The first message that is not finished, those with an orderly listener included; None where none is held."""
        firsts = (self.transaction_count, self.transaction_min_offset), (self.cached_count, self.cached_min_offset)
        return min((offset for count, offset in firsts if count), default=None)

    def unfinished_since_ms(self, arrived_ms: int | None) -> int:
        """Returns since when it has finished none of what it holds, at most: since its last finish, or since there is
        something to finish, if that came later.

        Args:
            arrived_ms: no message that it holds was stored before; None where nothing tells.
        """
        return max(self.last_consume_time_ms, arrived_ms or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRates:
    """Rates of one topic inside a consumer: messages per second, times in milliseconds."""

    topic: str = field(metadata=column("topic"))
    pull_rt_ms: float = field(default=0.0, metadata=column("pull ms", CellKind.RATE))
    pull_tps: float = field(default=0.0, metadata=column("pulled/s", CellKind.RATE))
    consume_rt_ms: float = field(default=0.0, metadata=column("consume ms", CellKind.RATE))
    consume_ok_tps: float = field(default=0.0, metadata=column("consumed/s", CellKind.RATE))
    consume_failed_tps: float = field(default=0.0, metadata=column("failed/s", CellKind.RATE))
    consume_failed_count: int = field(default=0, metadata=column("failed in the last hour", CellKind.COUNT))


@dataclass(frozen=True, slots=True, kw_only=True)
class StackText:
    """The threads of an instance as free text, and when they were asked for."""

    taken_at_ms: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningInfo:
    """What one consumer instance says about itself (request 307).

    Attributes:
        pops: whether it takes messages by POP (5.x): queues are then shared, and nobody owns one.
        held_counts: messages that it popped and did not answer for yet, by topic.
        properties: settings by name, `PROP_...` ones included.
        stacks: its threads as free text, where they were asked for.
        later_stacks: the same again, oldest first, for whoever wants to know what moves.
    """

    group: str
    client_id: str
    subscriptions: tuple[Subscription, ...] = ()
    queues: tuple[HeldQueue, ...] = ()
    rates: tuple[TopicRates, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    stacks: str | None = None
    later_stacks: tuple[StackText, ...] = ()
    pops: bool = False
    held_counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def strategy(self) -> str | None:
        """Name of its allocation strategy, as the strategy's class calls itself; None when it does not say.

        Java clients print the object, `...AllocateMessageQueueAveragely@405209d4`; the inner strategy of a nearby one
        is not in it.
        """
        text = self.properties.get("allocateMessageQueueStrategy", "").partition("@")[0].rpartition(".")[2]
        return _STRATEGIES.get(text, text) or None

    @property
    def orderly(self) -> bool | None:
        """Whether its listener is an orderly one; None when it does not say."""
        text = self.properties.get("PROP_CONSUMEORDERLY")
        return None if text is None else text.lower() == "true"

    @property
    def start_time_ms(self) -> int | None:
        """When the consumer was started; None when it does not say."""
        return decimal(self.properties.get("PROP_CONSUMER_START_TIMESTAMP"))

    @property
    def grpc_version(self) -> str | None:
        """Version of a gRPC client, told by the embedded endpoint; None for a client of the remoting protocol."""
        return self.properties.get("grpcClientVersion")

    @property
    def grpc_settings(self) -> str | None:
        """Settings of a gRPC client as its endpoint answered them; None for a client of the remoting protocol."""
        if self.grpc_version is None:
            return None
        kind, most = self.properties.get("grpcClientType", ""), self.properties.get("grpcMaxAttempts", "?")
        batch = self.properties.get("grpcReceiveBatchSize", "?")
        return sentence(
            "member-grpc-settings",
            "{kind}, {most} deliveries, batches of {batch}",
            kind=kind.lower(),
            most=most,
            batch=batch,
        )

    @property
    def held_since_ms(self) -> int | None:
        """Since when a gRPC client holds the oldest message that it did not answer for; None where nobody tells."""
        return decimal(self.properties.get("grpcHeldSince"))

    @property
    def thread_count(self) -> int | None:
        """Core size of the consume thread pool; the pool never grows beyond it, its queue being unbounded."""
        return decimal(self.properties.get("PROP_THREADPOOL_CORE_SIZE"))

    @property
    def all_threads_work(self) -> bool:
        """Whether every consume thread finishes messages: calls a second times the time of one are those that do.

        One that hangs is missing from them.
        """
        threads = self.thread_count
        batch_count = decimal(self.properties.get("consumeMessageBatchMaxSize")) or 1
        busy_ms = sum((item.consume_ok_tps + item.consume_failed_tps) * item.consume_rt_ms for item in self.rates)
        return bool(threads) and busy_ms / 1_000 / batch_count > (threads or 0) - _THREADS_ERROR

    def full_caches_ms(self, cache_limit_count: int) -> float:
        """Returns how long its threads take for as many messages as all its queues may hold."""
        slowest_ms = max((item.consume_rt_ms for item in self.rates), default=0.0)
        return slowest_ms * cache_limit_count * len(self.queues) / (self.thread_count or 1)


def filtered_topics(
    memberships: Iterable[GroupMembership], running: Iterable[RunningInfo]
) -> dict[str, dict[str, frozenset[str]]]:
    """Returns the topics that every group with members filters by tag, and the tags that each group wants of them.

    A group wants what one of its members or one broker says: which of them is right is another question.
    """
    wants: dict[str, dict[str, frozenset[str]]] = {}
    unfiltered: set[str] = set()
    by_brokers = ((entry.group, item) for entry in memberships for item in entry.subscriptions)
    by_members = ((info.group, item) for info in running for item in info.subscriptions)
    for group, item in chain(by_brokers, by_members):
        if item.expression_type != "TAG" or not item.tags:
            unfiltered.add(item.topic)
            continue
        groups = wants.setdefault(item.topic, {})
        groups[group] = groups.get(group, frozenset()) | {*item.tags}
    return {topic: groups for topic, groups in wants.items() if topic not in unfiltered}
