"""Clients of a broker by group: channels, subscriptions, expiry, change notification.

`ProducerManager` and `ConsumerManager` of 4.9.8: a member is its channel, not its client id; a heartbeat of any member
replaces the whole group's attributes and subscriptions, which is why members with different subscriptions fight.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from embedded_broker.clock import Clock, Periodic
from embedded_broker.remoting.server import ServerConnection
from mqctl.protocol.bodies_client import ConsumerData, SubscriptionData
from mqctl.protocol.codes import Language

log = logging.getLogger("embedded_broker")

EXPIRY_MS = 120_000
_SCAN_MS = 10_000


@dataclass(slots=True)
class Client:
    """One member of a group.

    Attributes:
        seen_ms: its last heartbeat, epoch milliseconds.
        version: version ordinal of the client library.
    """

    client_id: str
    connection: ServerConnection
    language: Language | None
    version: int
    seen_ms: int


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group with at least one channel, or one that had some.

    Attributes:
        members: by connection.
        subscriptions: by topic, those of the last heartbeat.
    """

    name: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    members: dict[ServerConnection, Client] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def client_ids(self) -> list[str]:
        return [client.client_id for client in self.members.values()]


OnGroupChanged = Callable[[ConsumerGroup], None]
OnGroupGone = Callable[[str], None]


class Clients:
    """Producer and consumer groups of one broker.

    Args:
        on_group_changed: called when members or topics of a consumer group changed; it notifies the members.
        on_group_gone: called with the name of a consumer group that lost its last member.

    Attributes:
        ever_subscribed: topics that a heartbeat named since the start.

    Args:
        keeps_producers: a producer group whose last connection broke stays, empty (`ProducerManager` of 4.9.8).
    """

    def __init__(
        self, clock: Clock, on_group_changed: OnGroupChanged, on_group_gone: OnGroupGone, *, keeps_producers: bool
    ) -> None:
        self._keeps_producers = keeps_producers
        self.producers: dict[str, dict[ServerConnection, Client]] = {}
        self.consumers: dict[str, ConsumerGroup] = {}
        self.ever_subscribed: set[str] = set()
        self._clock = clock
        self._changed = on_group_changed
        self._gone = on_group_gone
        self._groups: dict[ServerConnection, tuple[set[str], set[str]]] = {}
        self._fingerprints: dict[str, int] = {}
        self._scan = Periodic(clock, _SCAN_MS, self._drop_silent, first_ms=_SCAN_MS)

    def stop(self) -> None:
        """Ends the expiry scan."""
        self._scan.cancel()

    # Members

    def register_producer(self, group: str, client: Client) -> None:
        """Takes a heartbeat for a producer group."""
        self._watch(client.connection)[0].add(group)
        self.producers.setdefault(group, {})[client.connection] = client

    def is_new_fingerprint(self, group: str, fingerprint: int) -> bool:
        """Notes what a V2 heartbeat (5.x) says of its subscriptions; tells whether the group's last one differed."""
        before = self._fingerprints.get(group)
        self._fingerprints[group] = fingerprint
        return before is not None and before != fingerprint

    def register_consumer(
        self, data: ConsumerData, client: Client, *, notify: bool, with_subscriptions: bool = True
    ) -> None:
        """Takes a heartbeat for a consumer group.

        Args:
            notify: whether members hear of changes.
            with_subscriptions: not so in a V2 heartbeat, which leaves them as they are.
        """
        self._watch(client.connection)[1].add(data.group_name)
        group = self.consumers.get(data.group_name)
        if group is None:
            group = self.consumers[data.group_name] = ConsumerGroup(data.group_name)
        known = group.members.get(client.connection)
        if known is not None and known.client_id != client.client_id:
            log.warning(
                "group %s: %s was %s and is now %s",
                group.name,
                client.connection.peer,
                known.client_id,
                client.client_id,
            )
        group.members[client.connection] = client
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        self.ever_subscribed.update(subscription.topic for subscription in data.subscription_data_set)
        changed = known is None
        if with_subscriptions and self._subscribe(group, data.subscription_data_set):
            changed = True
        if changed and notify:
            self._changed(group)

    def _subscribe(self, group: ConsumerGroup, wanted: tuple[SubscriptionData, ...]) -> bool:
        changed = False
        for subscription in wanted:
            known = group.subscriptions.get(subscription.topic)
            if known is None:
                group.subscriptions[subscription.topic] = subscription
                changed = True
            elif subscription.sub_version > known.sub_version:
                group.subscriptions[subscription.topic] = subscription
        topics = {subscription.topic for subscription in wanted}
        for topic in [topic for topic in group.subscriptions if topic not in topics]:
            log.warning("group %s: a member without %s removes that subscription for all", group.name, topic)
            del group.subscriptions[topic]
            changed = True
        return changed

    def unregister_producer(self, group: str, connection: ServerConnection) -> None:
        """Takes a channel out of a producer group."""
        members = self.producers.get(group)
        if members is not None:
            members.pop(connection, None)
            if not members:
                del self.producers[group]

    def unregister_consumer(self, name: str, connection: ServerConnection, *, notify: bool) -> None:
        """Takes a channel out of a consumer group; an empty group is forgotten."""
        group = self.consumers.get(name)
        if group is None:
            return
        gone = group.members.pop(connection, None)
        if not group.members:
            del self.consumers[name]
            self._gone(name)
        elif gone is not None and notify:
            self._changed(group)

    def _watch(self, connection: ServerConnection) -> tuple[set[str], set[str]]:
        """Returns the producer and the consumer groups that a connection has been in."""
        groups = self._groups.get(connection)
        if groups is None:
            groups = self._groups[connection] = (set(), set())
            connection.on_close(self._forget)
        return groups

    def _forget(self, connection: ServerConnection) -> None:
        producing, consuming = self._groups.pop(connection, ((), ()))
        for name in producing:
            if self._keeps_producers:
                self.producers.get(name, {}).pop(connection, None)
            else:
                self.unregister_producer(name, connection)
        for name in consuming:
            group = self.consumers.get(name)
            if group is not None and connection in group.members:
                self.unregister_consumer(name, connection, notify=True)

    def _drop_silent(self) -> None:
        before_ms = self._clock.now_ms() - EXPIRY_MS
        tables: list[Mapping[ServerConnection, Client]] = [*self.producers.values()]
        tables += [group.members for group in self.consumers.values()]
        silent = {
            client.connection: client for table in tables for client in table.values() if client.seen_ms < before_ms
        }
        for connection, client in silent.items():
            log.warning("client %s at %s: no heartbeat for %d ms", client.client_id, connection.peer, EXPIRY_MS)
            connection.close()
            self._forget(connection)

    # Questions

    def consumer(self, group: str, client_id: str) -> Client | None:
        """Returns a member of a consumer group by its exact client id."""
        known = self.consumers.get(group)
        members = known.members.values() if known is not None else ()
        return next((client for client in members if client.client_id == client_id), None)

    def producer(self, client_id: str) -> Client | None:
        """Returns some channel of the producer with this client id."""
        for members in self.producers.values():
            for client in members.values():
                if client.client_id == client_id:
                    return client
        return None

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Returns what a group subscribed to on a topic."""
        known = self.consumers.get(group)
        return known.subscriptions.get(topic) if known is not None else None

    def groups_subscribed_to(self, topic: str) -> list[str]:
        """Returns the groups that are online and subscribed to a topic."""
        return [name for name, group in self.consumers.items() if topic in group.subscriptions]
