"""Another look at the members of the groups that a first look found, and at nothing else."""

from __future__ import annotations

from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.member import GroupMembership
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.members import OFFLINE, membership_of, with_proxied
from mqctl.snapshot.live.running import gather_running


def look_at_members(cluster: Cluster, deadline: Deadline, first: ClusterSnapshot, *, now_ms: int) -> ClusterSnapshot:
    """Returns who is connected now (203) and what they say of themselves (307), of the groups that had members.

    A group without members stays, empty; one that a broker did not tell about is missing.
    """
    asking = Asking(cluster, deadline)
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
    return ClusterSnapshot(
        origin=replace(first.origin, observed_at_ms=now_ms),
        brokers=tuple(
            BrokerSnapshot(name=item.name, address=item.address, memberships=memberships.get(number, ()))
            for number, item in enumerate(first.brokers)
        ),
        running=running,
    )
