"""What is in flight in live brokers, who holds the queues, and how fast they are: the columns beside lag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.client.admin import broker_queries as ask
from mqctl.model.consumption import Consumption, QueueKey, QueueOwners, addresses_of
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import GroupMembership
from mqctl.model.names import is_system_group
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import QueueState
from mqctl.protocol.bodies_stats import ConsumeStats
from mqctl.snapshot.live.asking import Answers, Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.running import gather_running
from mqctl.text import sentence

_Key = tuple[int, str, str]


def gather_consumption(
    asking: Asking, brokers: list[LiveBroker], queues: Mapping[int, tuple[QueueState, ...]]
) -> dict[int, Consumption]:
    """Asks for the groups and topics of the offsets that `brokers` hold (requests 208, 203 and 307).

    Returns:
        what was told, by the number of the broker; the rest becomes gaps of the brokers.
    """
    wanted = sorted(
        {(number, group, topic) for number, broker in enumerate(brokers) for group, topic, _ in broker.offsets}
    )
    stats = asking.put((key, brokers[key[0]].address.address, ask.consume_stats(key[1], key[2])) for key in wanted)
    for (number, group, topic), error in sorted(stats.errors.items()):
        brokers[number].miss(Part.CONSUMPTION, error, GapSubject(group=group, topic=topic))
    holders, addresses = _holders(asking, brokers, {group for _, group, _ in wanted})
    for number, group in sorted({(number, group) for number, group, _ in wanted} if not asking.cluster.proxies else ()):
        handed_out = [item for key, item in stats.values.items() if key[:2] == (number, group)]
        if holders.is_empty(group) and (gap := behind_proxy(group, handed_out)) is not None:
            brokers[number].gaps.append(gap)
    tps: dict[int, dict[tuple[str, str], float]] = {number: {} for number, _ in enumerate(brokers)}
    pulls: dict[int, dict[QueueKey, int]] = {number: {} for number, _ in enumerate(brokers)}
    cached: dict[int, dict[QueueKey, int]] = {number: {} for number, _ in enumerate(brokers)}
    consumed = {
        (group, topic): rate
        for group, topic in {(group, topic) for _, group, topic in wanted}
        if (rate := holders.consumed_tps(group, topic)) is not None
    }
    owners: dict[int, dict[QueueKey, tuple[str, ...]]] = {number: {} for number, _ in enumerate(brokers)}
    for key in wanted:
        number, group, topic = key
        if key in stats.values:
            tps[number][group, topic] = stats.values[key].consume_tps
        for queue in queues.get(number, ()):
            if queue.topic != topic:
                continue
            place = MessageQueue(topic, brokers[number].name, queue.queue_id)
            pull = _told_pull(stats, key, place)
            pulled = pull if pull is not None else holders.pull_offset(group, place)
            if pulled is not None:
                pulls[number][group, topic, queue.queue_id] = pulled
            clients = holders.owners(group, place)
            if clients is not None:
                owners[number][group, topic, queue.queue_id] = clients
            held = holders.cached(group, place)
            if held is not None:
                cached[number][group, topic, queue.queue_id] = held
    return {
        number: Consumption(
            pull_offsets=pulls[number],
            owners=owners[number],
            tps=tps[number],
            consumed_tps=consumed,
            cached=cached[number],
            addresses=addresses.get(brokers[number].name, {}),
        )
        for number in tps
    }


def behind_proxy(group: str, stats_of_brokers: Iterable[ConsumeStats]) -> Gap | None:
    """Returns what is probably missing of a group of which no broker knows a member, and to which one of 5.x hands out
    messages: in cluster mode a proxy alone knows its clients. None where nothing was handed out in the last minute.

    Args:
        stats_of_brokers: consume statistics of the group (request 208), one value a broker that answered.
    """
    known = list(stats_of_brokers)
    is_v5 = any(place.pull_offset is not None for item in known for place in item.offset_table.values())
    if not is_v5 or sum(item.consume_tps for item in known) <= 0:
        return None
    reason = sentence(
        "snapshot-handed-out-no-member",
        "messages were handed out within the last minute, and no broker knows a member: "
        "unless it just left, it is behind a proxy, and MQCTL_PROXY=HOST:PORT has that asked",
    )
    return Gap(part=Part.MEMBERS, cause=Cause.LEFT_OUT, reason=reason, subject=GapSubject(group=group))


def _told_pull(stats: Answers[_Key, ConsumeStats], key: _Key, queue: MessageQueue) -> int | None:
    """Returns what a broker from 5.0 on says."""
    answer = stats.values.get(key)
    progress = answer.offset_table.get(queue) if answer is not None else None
    return progress.pull_offset if progress is not None else None


def _holders(
    asking: Asking, brokers: list[LiveBroker], groups: set[str]
) -> tuple[QueueOwners, dict[str, dict[tuple[str, str], str]]]:
    """Asks the brokers that answer; consumers are connected to all of them, so each knows all members.

    Returns:
        who holds what, and by broker name where each member's connection comes from.
    """
    reachable = [broker for broker in brokers if broker.offsets]
    memberships: Mapping[int, tuple[GroupMembership, ...]] = gather_memberships(asking, reachable, Scope(groups=groups))
    unknown = {gap.group for broker in reachable for gap in broker.gaps if gap.part is Part.MEMBERS}
    running, gaps = gather_running(asking, reachable, memberships)
    if gaps:
        reachable[0].gaps += gaps
    clients: dict[str, set[str]] = {group: set() for group in groups - unknown if not is_system_group(group)}
    for items in memberships.values():
        for item in items:
            if item.group in clients:
                clients[item.group].update(item.client_ids)
    addresses = {reachable[number].name: addresses_of(items) for number, items in memberships.items()}
    return QueueOwners(clients, running), addresses
