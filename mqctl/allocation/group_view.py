"""One consumer group put together from what every broker and every instance says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from mqctl.allocation.tag_loss import TagLoss, Tags, tag_losses
from mqctl.model.config import creates_groups
from mqctl.model.finding import Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import (
    POP,
    PULL,
    GroupMembership,
    Member,
    MessageModel,
    RunningInfo,
    Subscription,
    is_grpc_client,
)
from mqctl.model.names import is_retry_topic, is_system_group
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings

_SHOWN_CLIENTS = 3
_SHOWN_QUEUES = 6


@dataclass(frozen=True, kw_only=True)
class GroupView:
    """A consumer group with members; what many rules ask of it is put together once.

    Attributes:
        memberships: by broker name.
        running: what each instance says of itself, by client id; instances that did not answer are missing.
        recorded_pops: topics that it pops though no broker declares that, see `ClusterSnapshot.recorded_pops`.
    """

    group: str
    memberships: Mapping[str, GroupMembership]
    running: Mapping[str, RunningInfo]
    recorded_pops: frozenset[str] = frozenset()

    @property
    def subject(self) -> Subject:
        return Subject(kind=SubjectKind.GROUP, group=self.group)

    @cached_property
    def client_ids(self) -> tuple[str, ...]:
        """Every client id that any broker knows, once each, sorted."""
        return tuple(sorted({client for item in self.memberships.values() for client in item.client_ids}))

    @cached_property
    def silent(self) -> tuple[str, ...]:
        """Client ids whose instances did not tell what they do."""
        return tuple(client for client in self.client_ids if client not in self.running)

    @cached_property
    def broadcasting(self) -> bool:
        return any(item.message_model is MessageModel.BROADCASTING for item in self.memberships.values())

    @cached_property
    def pops(self) -> bool:
        """Whether members take messages by POP (5.x), by what they say, or what brokers declare or records tell of all
        of their topics: every queue is everybody's."""
        by_members = any(item.consume_type == POP for item in self.memberships.values())
        topics = set(self.topics())
        declared = bool(topics) and topics <= self.popped_topics | self.recorded_pops
        return by_members or declared or any(info.pops for info in self.running.values())

    @cached_property
    def popped_topics(self) -> frozenset[str]:
        """Topics that brokers declare as consumed by POP (request 402)."""
        return frozenset(topic for item in self.memberships.values() for topic in item.popped_topics)

    @cached_property
    def orderly(self) -> bool:
        """Whether a listener of a member is an orderly one."""
        return any(info.orderly for info in self.running.values())

    @cached_property
    def pulls(self) -> bool:
        """Whether members pull for themselves: they may assign queues by hand, pause them, consume when they like."""
        return any(item.consume_type == PULL for item in self.memberships.values())

    @cached_property
    def behind_proxy(self) -> bool:
        """Whether members are clients of a proxy, which own no queues: a proxy says so, or their ids do (gRPC)."""
        return any(item.proxied for item in self.memberships.values()) or any(map(is_grpc_client, self.client_ids))

    @cached_property
    def shares(self) -> bool:
        """Whether queues are shared out among members, each to one."""
        return not (self.broadcasting or self.pulls or self.pops or self.behind_proxy)

    def members(self) -> tuple[Member, ...]:
        """Returns every connection that any broker knows, once per (client id, address)."""
        known = {
            (member.client_id, member.address): member for item in self.memberships.values() for member in item.members
        }
        return tuple(known[key] for key in sorted(known))

    def settling(self, now_ms: int, settings: Settings) -> bool:
        """Tells whether an instance started so recently that ownership may still be moving."""
        newest = max((info.start_time_ms or 0 for info in self.running.values()), default=0)
        return newest > 0 and now_ms - newest < settings.scaled(settings.settle_ms)

    def subscription(self, client_id: str, topic: str) -> Subscription | None:
        """Returns what one instance wants of `topic`, or None."""
        info = self.running.get(client_id)
        wanted = info.subscriptions if info else ()
        return next((item for item in wanted if item.topic == topic), None)

    def subscriptions(self, topic: str) -> dict[str, Subscription]:
        """Returns what each instance that answered wants of it, by client id; those that want nothing are left out."""
        pairs = ((client, self.subscription(client, topic)) for client in self.running)
        return {client: wanted for client, wanted in pairs if wanted is not None}

    def topics(self) -> tuple[str, ...]:
        """Returns the topics that any instance or any broker's table names, retry topics left out, sorted."""
        return self._topics

    @cached_property
    def _topics(self) -> tuple[str, ...]:
        own = {item.topic for info in self.running.values() for item in info.subscriptions}
        heard = {item.topic for membership in self.memberships.values() for item in membership.subscriptions}
        return tuple(sorted(topic for topic in own | heard if not is_retry_topic(topic)))

    def effective(self, topic: str) -> Subscription | None:
        """Returns what brokers filter `topic` by: the subscription with the highest version that any of them holds."""
        held = [item for entry in self.memberships.values() for item in entry.subscriptions if item.topic == topic]
        return max(held, key=lambda item: item.version_ms, default=None)


def group_views(snapshot: ClusterSnapshot) -> list[GroupView]:
    """Returns every group that has members, system groups left out, by name."""
    memberships: dict[str, dict[str, GroupMembership]] = {}
    for broker in snapshot.brokers:
        for item in broker.memberships:
            if not is_system_group(item.group):
                memberships.setdefault(item.group, {})[broker.name or ""] = item
    running: dict[str, dict[str, RunningInfo]] = {}
    for info in snapshot.running:
        running.setdefault(info.group, {})[info.client_id] = info
    pops = snapshot.recorded_pops()
    return [
        GroupView(
            group=group,
            memberships=held,
            running=running.get(group, {}),
            recorded_pops=pops.get(group, frozenset()),
        )
        for group, held in sorted(memberships.items())
    ]


def known_groups(snapshot: ClusterSnapshot) -> set[str]:
    """Returns every group that any broker knows, by its settings, members or offsets, system groups left out."""
    names = {
        name
        for broker in snapshot.brokers
        for name in (
            *(item.name for item in broker.groups),
            *(item.group for item in broker.memberships),
            *(item.group for item in broker.consumer_offsets),
        )
    }
    return {name for name in names if not is_system_group(name)}


# RocketMQ is no older: clients that count versions instead of telling a time say 0, 1, 2.
_FIRST_RELEASE_MS = 1_325_376_000_000


def newest_change_ms(versions: Iterable[int]) -> int | None:
    """Returns when a subscription changed last, from its versions, which are times in most clients."""
    return max((version for version in versions if version >= _FIRST_RELEASE_MS), default=None)


def differing_since_ms(view: GroupView, topic: str, sides: Mapping[str, Iterable[str]]) -> int | None:
    """Returns since when members that want different things of a topic are online together: since the first of a second
    side started. None where a side does not tell.

    Subscriptions carry a time, too, but members renew it whenever queues are shared out anew
    (`RebalancePushImpl.messageQueueChanged`): it only says until when one cannot have begun.

    Args:
        sides: the members of each side.
    """
    began = []
    for clients in sides.values():
        times = [_first_seen_ms(view, client, topic) for client in clients]
        known = [time_ms for time_ms in times if time_ms is not None]
        if not known:
            return None
        began.append(min(known))
    return sorted(began)[1] if len(began) > 1 else None


def _first_seen_ms(view: GroupView, client: str, topic: str) -> int | None:
    info, wanted = view.running.get(client), view.subscription(client, topic)
    started_ms = info.start_time_ms if info is not None else None
    times = (started_ms or 0, wanted.version_ms if wanted is not None else 0)
    return min((time_ms for time_ms in times if time_ms >= _FIRST_RELEASE_MS), default=None)


def named_clients(clients: Iterable[str]) -> str:
    """Writes client ids as a short list: three by name, the rest by number."""
    known = sorted(clients)
    shown = ", ".join(known[:_SHOWN_CLIENTS])
    return shown if len(known) <= _SHOWN_CLIENTS else f"{shown} (+{len(known) - _SHOWN_CLIENTS})"


def wanted_text(subscription: Subscription | None) -> str:
    """Writes a subscription in its normal form: `a||b` and `b || a` read the same."""
    if subscription is None:
        return "-"
    if subscription.expression_type != "TAG":
        return f"{subscription.expression_type} {subscription.expression}"
    return " || ".join(sorted(subscription.tags)) or "*"


def refusing_brokers(view: GroupView, snapshot: ClusterSnapshot) -> list[str]:
    """Returns the brokers that refuse all pulls of a group with members: they know no settings of it, and make none."""
    return [
        broker.name or ""
        for broker in snapshot.brokers
        if (broker.name or "") in view.memberships
        and broker.lacks(Part.GROUPS) is None
        and not creates_groups(broker.config)
        and all(config.name != view.group for config in broker.groups)
    ]


def losses_of(view: GroupView, topic: str, samples: Iterable[TagSample]) -> list[TagLoss]:
    """Returns what a group loses of one topic because its members want different tags, from samples of its queues."""
    counts = {sample.queue: sample.counts for sample in samples if sample.queue.topic == topic}
    owners = {held.queue: client for client, info in view.running.items() for held in info.queues if not held.dropped}
    wanted = {client: tags_of(view.subscription(client, topic)) for client in view.running}
    effective = view.effective(topic)
    by_broker = tags_of(effective) if effective is not None else None
    return tag_losses(counts, {queue: owners.get(queue) for queue in counts}, wanted, by_broker)


def tags_of(subscription: Subscription | None) -> Tags:
    """Returns what a subscription lets through: nothing where there is none."""
    if subscription is None:
        return frozenset()
    return frozenset(subscription.tags) if subscription.tags else None


def queue_names(queues: list[MessageQueue]) -> str:
    """Writes queues as `broker-a/0, broker-a/1`: six by name, the rest by number."""
    shown = ", ".join(f"{queue.broker_name}/{queue.queue_id}" for queue in sorted(queues)[:_SHOWN_QUEUES])
    return shown if len(queues) <= _SHOWN_QUEUES else f"{shown} (+{len(queues) - _SHOWN_QUEUES})"
