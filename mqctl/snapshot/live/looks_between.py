"""Looks between the ends of a window: which brokers are registered, who is connected, how far groups are."""

from __future__ import annotations

from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.admin.nameserver import cluster_info
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.member import GroupMembership
from mqctl.model.names import is_retry_topic
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.route import MASTER_ID, NameServerView
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, split_offset_key
from mqctl.snapshot.live.members import OFFLINE, membership_of, with_proxied
from mqctl.snapshot.live.queues import queue_bounds
from mqctl.snapshot.live.routes import endpoints_of
from mqctl.snapshot.live.running import gather_running


def look_between(cluster: Cluster, deadline: Deadline, first: ClusterSnapshot, *, now_ms: int) -> ClusterSnapshot:
    """Returns what may change and change back within a window.

    These are the brokers that each name server lists (106), and of the groups that had members: who is connected (203),
    what they say of themselves (307), their offsets (43) and the ends of what they subscribe to (202). A group without
    members stays, empty; what nobody told is missing.
    """
    asking = Asking(cluster, deadline)
    views = _registered(asking, first)
    wanted = [
        (number, broker.address or "", entry)
        for number, broker in enumerate(first.brokers)
        for entry in broker.memberships
    ]
    answers = asking.put(
        ((number, entry.group), address, ask.consumer_connections(entry.group)) for number, address, entry in wanted
    )
    memberships: dict[int, tuple[GroupMembership, ...]] = {}
    for number, _, entry in wanted:
        key = (number, entry.group)
        error = answers.errors.get(key)
        if error is None:
            memberships[number] = (*memberships.get(number, ()), membership_of(entry.group, (), answers.values[key]))
        elif refused_with(error, OFFLINE):
            memberships[number] = (*memberships.get(number, ()), replace(entry, client_ids=(), members=(), proxied={}))
    brokers = [
        LiveBroker(address=BrokerAddress(item.cluster or "", item.name or "", item.broker_id or 0, item.address or ""))
        for item in first.brokers
    ]
    memberships = with_proxied(asking, brokers, [(number, entry.group) for number, _, entry in wanted], memberships)
    running, _ = gather_running(asking, brokers, memberships)
    offsets = _offsets(asking, first)
    subscribed = {
        (number, item.topic)
        for number in offsets
        for entry in first.brokers[number].memberships
        for item in entry.subscriptions
        if not is_retry_topic(item.topic)
    }
    queues = queue_bounds(asking, brokers, sorted(subscribed))
    return ClusterSnapshot(
        origin=replace(first.origin, observed_at_ms=now_ms),
        name_servers=views,
        brokers=tuple(
            BrokerSnapshot(
                name=item.name,
                address=item.address,
                memberships=memberships.get(number, ()),
                queues=queues.get(number, ()),
                consumer_offsets=offsets.get(number, ()),
            )
            for number, item in enumerate(first.brokers)
        ),
        running=running,
    )


def _registered(asking: Asking, first: ClusterSnapshot) -> tuple[NameServerView, ...]:
    """Returns the brokers that name servers list; one that does not answer is left out."""
    addresses = [view.address for view in first.name_servers]
    answers = asking.put((address, address, cluster_info()) for address in addresses)
    return tuple(
        NameServerView(address=address, endpoints=endpoints_of(answers.values[address]))
        for address in addresses
        if address in answers.values
    )


def _offsets(asking: Asking, first: ClusterSnapshot) -> dict[int, tuple[ConsumerOffsetState, ...]]:
    """Returns the offsets of groups that had members, by the number of the master that answered."""
    groups = {entry.group for broker in first.brokers for entry in broker.memberships if entry.client_ids}
    masters = [
        (number, broker.address or "")
        for number, broker in enumerate(first.brokers)
        if broker.broker_id in (None, MASTER_ID) and groups
    ]
    answers = asking.put((number, address, ask.all_consumer_offsets()) for number, address in masters)
    return {
        number: tuple(
            ConsumerOffsetState(group=group, topic=topic, queue_id=queue_id, offset=offset)
            for key, queues in sorted(table.offset_table.items())
            for topic, group in [split_offset_key(key)]
            if group in groups and not is_retry_topic(topic)
            for queue_id, offset in sorted(queues.items())
        )
        for number, table in answers.values.items()
    }
