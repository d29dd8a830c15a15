"""Who consumes in a live cluster: what brokers say of their groups, and what the instances say of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import (
    KNOWN_KINDS,
    GroupMembership,
    Member,
    MessageModel,
    Subscription,
)
from mqctl.model.names import RETRY_PREFIX, is_retry_topic, is_system_group
from mqctl.model.names_alike import plain
from mqctl.model.queue_state import QueueState
from mqctl.protocol.bodies_client import ConsumerConnection, SubscriptionData
from mqctl.protocol.bodies_pop import POP
from mqctl.protocol.codes import ResponseCode
from mqctl.snapshot.live.asking import Asking, Scope, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_request_modes
from mqctl.text import sentence

_NO_MODES: Mapping[str, str] = {}
_SILENT = frozenset({Cause.SILENT, Cause.TIMED_OUT, Cause.NOT_ASKED})
OFFLINE = frozenset({int(ResponseCode.CONSUMER_NOT_ONLINE)})


def read_subscription(data: SubscriptionData) -> Subscription:
    """Turns what travels into what is compared: tags sorted, the rest as given."""
    return Subscription(
        topic=data.topic,
        expression=data.sub_string,
        expression_type=data.expression_type or "TAG",
        tags=tuple(sorted(data.tags_set)),
        version_ms=data.sub_version,
    )


def gather_memberships(
    asking: Asking, brokers: list[LiveBroker], scope: Scope
) -> dict[int, tuple[GroupMembership, ...]]:
    """Asks each broker for the members of each of its groups (203, and 38 for those online)."""
    unnamed = _without_settings(asking, brokers, scope)
    wanted = [
        (number, group)
        for number, broker in enumerate(brokers)
        if not broker.lost
        for group in sorted(
            {*plain(scope.groups), *broker.groups, *(key[0] for key in broker.offsets), *unnamed.get(number, ())}
        )
        if not is_system_group(group) and scope.has_group(group)
    ]
    connections = asking.put((key, brokers[key[0]].address.address, ask.consumer_connections(key[1])) for key in wanted)
    online = [key for key in wanted if key in connections.values]
    ids = asking.put((key, brokers[key[0]].address.address, ask.consumer_ids(key[1])) for key in online)
    modes = _modes(asking, brokers, {number for number, _ in online})
    memberships: dict[int, list[GroupMembership]] = {}
    for key in wanted:
        number, group = key
        error = connections.errors.get(key) or ids.errors.get(key)
        if error is None:
            membership = membership_of(group, ids.values[key], connections.values[key], modes.get(key, _NO_MODES))
            memberships.setdefault(number, []).append(membership)
        elif not refused_with(error, OFFLINE):
            brokers[number].miss(Part.MEMBERS, error, GapSubject(group=group))
    return with_proxied(asking, brokers, wanted, {number: tuple(items) for number, items in memberships.items()})


def members_by_broker(asking: Asking, brokers: list[LiveBroker], group: str) -> dict[str, GroupMembership]:
    """Returns what each broker says of one group's members, by the name of the broker."""
    memberships = gather_memberships(asking, brokers, Scope(groups=frozenset({group})))
    return {brokers[number].name: items[0] for number, items in memberships.items()}


def with_proxied(
    asking: Asking,
    brokers: list[LiveBroker],
    wanted: Sequence[tuple[int, str]],
    memberships: dict[int, tuple[GroupMembership, ...]],
) -> dict[int, tuple[GroupMembership, ...]]:
    """Adds the members that only proxies know, at the brokers that hold the group.

    In cluster mode a proxy pops for its clients, and no broker hears of them. Proxies that are named are asked (203, 38
    at their remoting ports). Without any, what proxies tell each other is read from the brokers.

    Args:
        wanted: groups by the number of the broker.
    """
    groups = sorted({group for _, group in wanted})
    at: dict[str, list[int]] = {}
    for number, group in wanted:
        at.setdefault(group, []).append(number)
    proxied = _at_proxies(asking, brokers, groups, at) if asking.cluster.proxies else {}
    unseen = [group for group in groups if group not in proxied and not _is_known(group, memberships)]
    if unseen and not asking.cluster.proxies:
        from mqctl.snapshot.live.proxies import groups_of_proxies

        heard = [broker for broker in brokers if not any(gap.cause in _SILENT for gap in broker.gaps)]
        by_heartbeats = groups_of_proxies(asking, heard, unseen)
        for group, clients in by_heartbeats.items():
            proxied[group] = replace(membership_of(group, (), clients.connection), proxied=clients.proxies)
    by_group = {number: {item.group: item for item in items} for number, items in memberships.items()}
    held = {(number, group) for number, broker in enumerate(brokers) for group in _groups_of(broker)}
    held_anywhere = {group for _, group in held}
    for number, group in wanted:
        if group in proxied and ((number, group) in held or group not in held_anywhere):
            of_broker = by_group.setdefault(number, {})
            of_broker[group] = _joined(of_broker.get(group), proxied[group])
    return {number: tuple(items.values()) for number, items in by_group.items()}


def _at_proxies(
    asking: Asking, brokers: list[LiveBroker], groups: list[str], at: Mapping[str, list[int]]
) -> dict[str, GroupMembership]:
    keys = [(proxy, group) for proxy in asking.cluster.proxies for group in groups]
    connections = asking.put((key, key[0], ask.consumer_connections(key[1])) for key in keys)
    ids = asking.put((key, key[0], ask.consumer_ids(key[1])) for key in connections.values)
    proxied: dict[str, GroupMembership] = {}
    for key in keys:
        proxy, group = key
        if key in connections.values:
            membership = membership_of(group, ids.values.get(key, ()), connections.values[key])
            membership = replace(membership, proxied=dict.fromkeys(membership.client_ids, proxy))
            proxied[group] = _joined(proxied.get(group), membership)
        elif not refused_with(connections.errors[key], OFFLINE):
            for number in at[group]:
                brokers[number].miss(Part.MEMBERS, connections.errors[key], GapSubject(group=group))
    return proxied


def _is_known(group: str, memberships: Mapping[int, tuple[GroupMembership, ...]]) -> bool:
    return any(item.group == group and item.client_ids for items in memberships.values() for item in items)


def _groups_of(broker: LiveBroker) -> set[str]:
    return {*broker.groups, *(group for group, _, _ in broker.offsets)}


def _joined(first: GroupMembership | None, more: GroupMembership) -> GroupMembership:
    """Adds members that somebody else knows; what both tell stays as the first tells it."""
    if first is None or not first.client_ids:
        return more
    topics = {item.topic for item in first.subscriptions}
    heard = {(item.client_id, item.address) for item in first.members}
    return replace(
        first,
        client_ids=(*first.client_ids, *(name for name in more.client_ids if name not in first.client_ids)),
        members=(*first.members, *(item for item in more.members if (item.client_id, item.address) not in heard)),
        subscriptions=(*first.subscriptions, *(item for item in more.subscriptions if item.topic not in topics)),
        proxied={
            **{name: proxy for name, proxy in more.proxied.items() if name not in first.client_ids},
            **first.proxied,
        },
    )


def ask_unplaced(
    asking: Asking,
    brokers: list[LiveBroker],
    memberships: dict[int, tuple[GroupMembership, ...]],
    queues: dict[int, tuple[QueueState, ...]],
) -> dict[int, tuple[GroupMembership, ...]]:
    """Asks where groups that begin at the end have no offset, as their consumers do.

    A broker answers 0 for a queue whose first message is still in its memory, and nothing once it left: min offsets
    do not tell that (`ConsumerManageProcessor.queryConsumerOffset`). Queues that lost messages need no question.
    """
    asks = [
        ((number, item.group, queue.topic, queue.queue_id), brokers[number].address.address)
        for number, items in memberships.items()
        for item in items
        if item.consume_from_where == "CONSUME_FROM_LAST_OFFSET" and item.message_model is MessageModel.CLUSTERING
        for queue in queues.get(number, ())
        if queue.topic in {subscription.topic for subscription in item.subscriptions} - set(item.popped_topics)
        and not queue.topic.startswith(RETRY_PREFIX)
        and (item.group, queue.topic, queue.queue_id) not in brokers[number].offsets
        and queue.min_offset == 0
        and queue.message_count
    ]
    answers = asking.put((key, address, ask.consumer_offset(*key[1:])) for key, address in asks)
    for (number, group, topic, _), error in answers.errors.items():
        brokers[number].miss(Part.CONSUMER_OFFSETS, error, GapSubject(group=group, topic=topic))
    unplaced: dict[tuple[int, str], list[tuple[str, int]]] = {}
    for (number, group, topic, queue_id), offset in sorted(answers.values.items()):
        if offset is None:
            unplaced.setdefault((number, group), []).append((topic, queue_id))
    return {
        number: tuple(replace(item, unplaced_queues=tuple(unplaced.get((number, item.group), ()))) for item in items)
        for number, items in memberships.items()
    }


def _without_settings(asking: Asking, brokers: list[LiveBroker], scope: Scope) -> dict[int, set[str]]:
    """Returns the groups that brokers know by their members only, by the number of the broker.

    Where brokers create no groups, members of one without settings are refused, and no table has it: who subscribes is
    asked topic by topic (300); not for groups that are named, which are asked about in any case.
    """
    if scope.groups and len(plain(scope.groups)) == len(scope.groups):
        return {}
    places = [
        (number, topic)
        for number, broker in enumerate(brokers)
        if broker.config.get("autoCreateSubscriptionGroup", "").lower() == "false"
        for topic in broker.user_topics(scope)
        if not is_retry_topic(topic)
    ]
    answers = asking.put((key, brokers[key[0]].address.address, ask.topic_groups(key[1])) for key in places)
    missing: dict[int, set[str]] = {}
    for (number, _), groups in answers.values.items():
        missing.setdefault(number, set()).update(groups)
    for (number, topic), error in answers.errors.items():
        brokers[number].miss(Part.MEMBERS, error, GapSubject(topic=topic))
    return missing


def _modes(asking: Asking, brokers: list[LiveBroker], numbers: Set[int]) -> dict[tuple[int, str], dict[str, str]]:
    """Returns how groups consume topics, `POP` or `PULL`, by the number of the broker that declares it and group."""
    topics_of_groups = sorted(numbers)
    ask_request_modes(asking, [brokers[number] for number in topics_of_groups])
    declared: dict[tuple[int, str], dict[str, str]] = {}
    for number in topics_of_groups:
        modes = brokers[number].request_modes
        if isinstance(modes, MqctlError):
            gap = Gap.of(Part.MEMBERS, modes, GapSubject(place=sentence("gap-pop-modes", "POP modes")))
            brokers[number].gaps += [] if gap in brokers[number].gaps else [gap]
            continue
        for mode in modes or ():
            declared.setdefault((number, mode.consumer_group), {})[mode.topic] = mode.mode
    return declared


def declared_modes(asking: Asking, brokers: list[LiveBroker], topic: str | None = None) -> dict[str, set[str]]:
    """Returns how brokers have groups consume, `POP` or `PULL`, of those for which that was set (5.x, request 402).

    Args:
        topic: only what was set for it.
    """
    _modes(asking, brokers, set(range(len(brokers))))
    modes: dict[str, set[str]] = {}
    for broker in brokers:
        if broker.request_modes is not None and not isinstance(broker.request_modes, MqctlError):
            for item in broker.request_modes:
                if topic not in (None, item.topic):
                    continue
                modes.setdefault(item.consumer_group, set()).add(item.mode)
    return modes


def membership_of(
    group: str, client_ids: tuple[str, ...], connection: ConsumerConnection, modes: Mapping[str, str] = _NO_MODES
) -> GroupMembership:
    """Returns how a broker describes a group.

    Args:
        modes: how the broker has it consume, by topic, where that was set (5.x, request 402).
    """
    model = connection.message_model
    described = [("messageModel", model), ("consumeType", connection.consume_type)]
    described += [("expressionType", item.expression_type) for item in connection.subscription_table.values()]
    described += [("mode", mode) for mode in modes.values()]
    return GroupMembership(
        group=group,
        client_ids=client_ids or tuple(item.client_id for item in connection.connection_set),
        members=tuple(
            Member(client_id=item.client_id, address=item.client_addr, language=item.language, version=item.version)
            for item in connection.connection_set
        ),
        consume_type=connection.consume_type,
        message_model=MessageModel(model) if model in set(MessageModel) else None,
        consume_from_where=connection.consume_from_where,
        subscriptions=tuple(read_subscription(item) for _, item in sorted(connection.subscription_table.items())),
        popped_topics=tuple(topic for topic, mode in modes.items() if mode == POP),
        unknown_kinds={name: value for name, value in described if value and value not in KNOWN_KINDS[name]},
    )
