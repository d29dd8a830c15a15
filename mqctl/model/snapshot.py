"""A cluster as it was at one moment: gathered from a store directory, a live cluster or an archive, judged anywhere.

None means not known; it never means zero. Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mqctl.model.access import AccessState
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.delay_state import DelayState
from mqctl.model.gap import Gap, Part
from mqctl.model.handed_out import HandedOut
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, ProducerMembership, RunningInfo, consume_mode, is_grpc_client
from mqctl.model.names import is_retry_topic
from mqctl.model.newest import NewestMessage
from mqctl.model.origin import Origin
from mqctl.model.past import RecordedPast
from mqctl.model.pop_share import PopShare
from mqctl.model.probe import SendProbe
from mqctl.model.queue_state import ConsumerOffsetState, OffsetJump, QueueState, TagSample
from mqctl.model.replication import CopiedTables, HaView, LogLook
from mqctl.model.route import NameServerView, SeenBroker, TopicRoute
from mqctl.model.storage_state import StorageState
from mqctl.model.transaction_state import TransactionState


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSnapshot:
    """Everything known about one broker.

    A section that is None or empty for want of evidence has an entry in `unavailable`.

    Attributes:
        name: broker name, None when the source does not tell it.
        topics_time_ms: when the topic table was last changed, None when the broker did not tell.
        file_reserved_ms: retention of commit log files, None when the broker's configuration is not known.
        second_file_time_ms: store time of the first message of the log's second file; asked where the log is old.
        cluster, address, broker_id: of a live broker; `address` is the one that was asked.
        version: text of a live broker's release, for instance `V4_9_8`.
        memberships, producers: who is connected; only a live broker knows.
        pop: who shares messages instead of queues (5.x), and how far they are.
        newest: the newest messages of its busiest queues, without bodies; only a live broker is asked.
        probe: what came of a message that was sent to it; None where none was.
        replication: what a broker of 5.x with slaves, or a slave, tells of it.
        copied: the tables of a slave.
        log_again: of a slave that seemed to be behind: its log at a second look.
        runtime, config: a live broker's own texts (requests 28 and 26).
        handed_out: messages of its last minute by group and topic; asked in a window that is long enough.
        access: users and what they may do, of a 5.x broker that checks; None where it does not, or did not tell.
    """

    name: str | None = None
    topics: tuple[TopicConfig, ...] = ()
    topics_time_ms: int | None = None
    groups: tuple[SubscriptionGroupConfig, ...] = ()
    queues: tuple[QueueState, ...] = ()
    consumer_offsets: tuple[ConsumerOffsetState, ...] = ()
    offset_jumps: tuple[OffsetJump, ...] = ()
    delay: DelayState | None = None
    transactions: TransactionState | None = None
    storage: StorageState | None = None
    file_reserved_ms: int | None = None
    second_file_time_ms: int | None = None
    cluster: str | None = None
    address: str | None = None
    broker_id: int | None = None
    version: str | None = None
    memberships: tuple[GroupMembership, ...] = ()
    producers: tuple[ProducerMembership, ...] = ()
    runtime: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    pop: tuple[PopShare, ...] = ()
    access: AccessState | None = None
    replication: HaView | None = None
    copied: CopiedTables | None = None
    log_again: LogLook | None = None
    newest: tuple[NewestMessage, ...] = ()
    probe: SendProbe | None = None
    handed_out: tuple[HandedOut, ...] = ()
    unavailable: tuple[Gap, ...] = ()

    @property
    def queue_counts(self) -> dict[str, int] | None:
        """How many queues topics have, as producers or consumers know them; None where topics are not known."""
        if not self.topics:
            return None
        return {config.name: max(config.read_queue_count, config.write_queue_count) for config in self.topics}

    def lacks(self, part: Part) -> Gap | None:
        """Returns why the whole of `part` is missing, or None when it is there."""
        return next((gap for gap in self.unavailable if gap.part is part and gap.subject is None), None)

    def queue_index(self) -> dict[tuple[str, int], QueueState]:
        """Returns the queues by (topic, queue id)."""
        return {(queue.topic, queue.queue_id): queue for queue in self.queues}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster, or the part of it that one store directory shows.

    Attributes:
        name_servers: what each of them answers; empty for a store directory.
        tag_samples: of topics on which members of a group want different things.
        running: what consumer instances say about themselves.
        seen_brokers: those that were registered when the cluster was looked at lately, from where this was gathered.
        between: which brokers were registered in between, oldest first, and of the groups that had members who was
            connected and how far they were; nothing else is in them.
        earlier: the same cluster some time before, for rules that need movement.
        past: what a recording tells of the weeks before; None for what was not recorded.
    """

    origin: Origin
    brokers: tuple[BrokerSnapshot, ...] = ()
    name_servers: tuple[NameServerView, ...] = ()
    running: tuple[RunningInfo, ...] = ()
    seen_brokers: tuple[SeenBroker, ...] = ()
    tag_samples: tuple[TagSample, ...] = ()
    earlier: ClusterSnapshot | None = None
    between: tuple[ClusterSnapshot, ...] = ()
    past: RecordedPast | None = None
    unavailable: tuple[Gap, ...] = ()

    @property
    def without_brokers(self) -> bool:
        """Whether name servers answered and none of them knows a broker."""
        return bool(self.name_servers) and not any(view.endpoints for view in self.name_servers)

    def routes(self) -> dict[str, TopicRoute]:
        """Returns the route of each topic; where name servers differ, the first that knows the topic speaks."""
        known: dict[str, TopicRoute] = {}
        for view in self.name_servers:
            for route in view.routes:
                known.setdefault(route.topic, route)
        return known

    def pops(self, group: str, topic: str) -> bool:
        """Tells whether a group shares the messages of a topic: then nobody owns its queues."""
        shares = (share for broker in self.brokers for share in broker.pop)
        return any(share.pops and (share.group, share.topic) == (group, topic) for share in shares)

    def consume_modes(self) -> dict[str, str]:
        """Returns how each group consumes whose mode is known, `POP` or `PULL`, both where it differs by topic."""
        memberships: dict[str, list[GroupMembership]] = {}
        declared: dict[str, set[str]] = {}
        for broker in self.brokers:
            for membership in broker.memberships:
                memberships.setdefault(membership.group, []).append(membership)
            for share in broker.pop:
                declared.setdefault(share.group, set()).add(share.shown_mode)
        by_members = {group: mode for group, items in memberships.items() if (mode := consume_mode(items))}
        for group, topics in self.recorded_pops().items():
            wanted = {item.topic for entry in memberships.get(group, ()) for item in entry.subscriptions}
            if all(topic in topics or is_retry_topic(topic) for topic in wanted):
                by_members[group] = "POP"
        return {group: ", ".join(sorted(modes)) for group, modes in declared.items()} | by_members

    def recorded_pops(self) -> dict[str, frozenset[str]]:
        """Returns the topics that groups pop, by what is known beside their brokers' modes (request 402).

        These are what records of pops tell; what clients of a proxy want, which pops for them; and what members want
        of a group that is set to ordered pops (`consumeMessageOrderly`, 5.x): such batches are in no record. A topic of
        which a member holds a queue is not among them.
        """
        topics: dict[str, set[str]] = {}
        for share in (share for broker in self.brokers for share in broker.pop):
            if share.pops:
                topics.setdefault(share.group, set()).add(share.topic)
        answered_groups = {info.group for info in self.running}
        held = {(info.group, item.queue.topic) for info in self.running for item in info.queues if not item.dropped}
        ordered = {item.name for broker in self.brokers for item in broker.groups if item.consume_message_orderly}
        for entry in (entry for broker in self.brokers for entry in broker.memberships):
            clients = entry.client_ids
            proxied = bool(clients) and all(name in entry.proxied or is_grpc_client(name) for name in clients)
            if proxied or (clients and entry.group in ordered & answered_groups):
                wanted = {item.topic for item in entry.subscriptions if not is_retry_topic(item.topic)}
                topics.setdefault(entry.group, set()).update(wanted)
        left = {group: {topic for topic in names if (group, topic) not in held} for group, names in topics.items()}
        return {group: frozenset(names) for group, names in left.items() if names}

    def members_of(self, group: str) -> dict[str, GroupMembership]:
        """Returns what each broker that knows `group` says of it, by broker name."""
        return {
            broker.name or "": membership
            for broker in self.brokers
            for membership in broker.memberships
            if membership.group == group
        }
