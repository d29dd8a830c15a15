"""Who consumes in a live cluster: what brokers say of their groups, and what the instances say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.answers import AnswerError
from mqctl.errors import DeadlineError, MqctlError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import (
    GroupMembership,
    HeldQueue,
    Member,
    MessageModel,
    RunningInfo,
    Subscription,
    TopicRates,
    is_grpc_client,
)
from mqctl.model.names import RETRY_PREFIX, is_retry_topic, is_system_group
from mqctl.model.names_alike import plain
from mqctl.model.queue_state import QueueState
from mqctl.protocol.bodies_client import ConsumerConnection, ConsumerRunningInfo, SubscriptionData
from mqctl.protocol.bodies_pop import POP
from mqctl.protocol.codes import ResponseCode
from mqctl.snapshot.live.asking import Asking, Scope, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_request_modes

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
        for group in sorted(
            {*plain(scope.groups), *broker.groups, *(key[0] for key in broker.offsets), *unnamed.get(number, ())}
        )
        if not is_system_group(group) and scope.has_group(group)
    ]
    connections = asking.put((key, brokers[key[0]].address.address, ask.consumer_connections(key[1])) for key in wanted)
    online = [key for key in wanted if key in connections.values]
    ids = asking.put((key, brokers[key[0]].address.address, ask.consumer_ids(key[1])) for key in online)
    popped = _popped(asking, brokers, {number for number, _ in online})
    memberships: dict[int, list[GroupMembership]] = {}
    for key in wanted:
        number, group = key
        error = connections.errors.get(key) or ids.errors.get(key)
        if error is None:
            topics = popped.get(key, ())
            memberships.setdefault(number, []).append(
                membership_of(group, ids.values[key], connections.values[key], topics)
            )
        elif not refused_with(error, OFFLINE):
            brokers[number].miss(Part.MEMBERS, error, GapSubject(group=group))
    return with_proxied(asking, brokers, wanted, {number: tuple(items) for number, items in memberships.items()})


def with_proxied(
    asking: Asking,
    brokers: list[LiveBroker],
    wanted: Sequence[tuple[int, str]],
    memberships: dict[int, tuple[GroupMembership, ...]],
) -> dict[int, tuple[GroupMembership, ...]]:
    """Adds the members that only proxies know (203, 38 at their remoting ports), at the brokers that hold the group.

    In cluster mode a proxy pops for its clients, and no broker hears of them. Proxies tell each other of theirs.

    Args:
        wanted: groups by the number of the broker.
    """
    if not asking.cluster.proxies:
        return memberships
    groups = sorted({group for _, group in wanted})
    keys = [(proxy, group) for proxy in asking.cluster.proxies for group in groups]
    connections = asking.put((key, key[0], ask.consumer_connections(key[1])) for key in keys)
    ids = asking.put((key, key[0], ask.consumer_ids(key[1])) for key in connections.values)
    proxied: dict[str, GroupMembership] = {}
    at: dict[str, list[int]] = {}
    for number, group in wanted:
        at.setdefault(group, []).append(number)
    for key in keys:
        proxy, group = key
        if key in connections.values:
            membership = membership_of(group, ids.values.get(key, ()), connections.values[key])
            membership = replace(membership, proxied=dict.fromkeys(membership.client_ids, proxy))
            proxied[group] = _joined(proxied.get(group), membership)
        elif not refused_with(connections.errors[key], OFFLINE):
            for number in at[group]:
                brokers[number].miss(Part.MEMBERS, connections.errors[key], GapSubject(group=group))
    by_group = {number: {item.group: item for item in items} for number, items in memberships.items()}
    held = {(number, group) for number, broker in enumerate(brokers) for group in _groups_of(broker)}
    held_anywhere = {group for _, group in held}
    for number, group in wanted:
        if group in proxied and ((number, group) in held or group not in held_anywhere):
            of_broker = by_group.setdefault(number, {})
            of_broker[group] = _joined(of_broker.get(group), proxied[group])
    return {number: tuple(items.values()) for number, items in by_group.items()}


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
    asked topic by topic (300).
    """
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


def _popped(asking: Asking, brokers: list[LiveBroker], numbers: Set[int]) -> dict[tuple[int, str], tuple[str, ...]]:
    """Returns the topics that groups consume by POP, by the number of the broker that declares it and the group."""
    topics_of_groups = sorted(numbers)
    ask_request_modes(asking, [brokers[number] for number in topics_of_groups])
    topics: dict[tuple[int, str], tuple[str, ...]] = {}
    for number in topics_of_groups:
        modes = brokers[number].request_modes
        if isinstance(modes, MqctlError):
            gap = Gap.of(Part.MEMBERS, modes, GapSubject(place="POP modes"))
            brokers[number].gaps += [] if gap in brokers[number].gaps else [gap]
            continue
        for mode in modes or ():
            if mode.mode == POP:
                key = (number, mode.consumer_group)
                topics[key] = (*topics.get(key, ()), mode.topic)
    return topics


def declared_modes(asking: Asking, brokers: list[LiveBroker]) -> dict[str, set[str]]:
    """Returns how brokers have groups consume, `POP` or `PULL`, of those for which that was set (5.x, request 402)."""
    _popped(asking, brokers, set(range(len(brokers))))
    modes: dict[str, set[str]] = {}
    for broker in brokers:
        if broker.request_modes is not None and not isinstance(broker.request_modes, MqctlError):
            for item in broker.request_modes:
                modes.setdefault(item.consumer_group, set()).add(item.mode)
    return modes


def membership_of(
    group: str, client_ids: tuple[str, ...], connection: ConsumerConnection, popped: tuple[str, ...] = ()
) -> GroupMembership:
    model = connection.message_model
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
        popped_topics=popped,
    )


def gather_running(
    asking: Asking,
    brokers: list[LiveBroker],
    memberships: Mapping[int, tuple[GroupMembership, ...]],
    *,
    with_stacks: bool = False,
    limit_ms: int | None = None,
) -> tuple[tuple[RunningInfo, ...], tuple[Gap, ...]]:
    """Asks every instance, through a broker or the proxy that knows it, what it is doing: all at once.

    Args:
        limit_ms: how long they have; a third of the time that is left when not given.
    """
    ways = _ways(brokers, memberships)
    questions = ((key, way, ask.running_info(*key, with_stacks=with_stacks)) for key, way in sorted(ways.items()))
    answers = asking.put(questions, relayed=True, limit_ms=limit_ms)
    running = tuple(_running(key, answers.values[key]) for key in sorted(answers.values))
    behind = {
        (item.group, name)
        for items in memberships.values()
        for item in items
        for name in item.client_ids
        if name in item.proxied or is_grpc_client(name)
    }
    gaps = (
        _not_passed_on(key, error) if key in behind else Gap.of(Part.RUNNING_INFO, error, _client(key))
        for key, error in sorted(answers.errors.items())
        if not refused_with(error, OFFLINE)
    )
    return running, tuple(gaps)


def _client(key: tuple[str, str]) -> GapSubject:
    return GapSubject(group=key[0], client=key[1])


def _not_passed_on(key: tuple[str, str], error: MqctlError) -> Gap:
    """Returns the gap of a client of a proxy: 5.3.3 loses the question on the way to it, and nobody answers."""
    if not isinstance(error, AnswerError | DeadlineError):
        return Gap.of(Part.RUNNING_INFO, error, _client(key))
    reason = "its proxy passed the question on to no one: RocketMQ 5.3.3 asks no gRPC client what it is doing"
    return Gap(part=Part.RUNNING_INFO, cause=Cause.UNSUPPORTED, reason=reason, subject=_client(key))


def without_stacks(running: Iterable[RunningInfo]) -> list[Gap]:
    """Names the instances that answered without the stacks they were asked for."""
    reason = "it answers without stacks: its client does not support them"
    return [
        Gap(
            part=Part.STACKS,
            cause=Cause.UNSUPPORTED,
            reason=reason,
            subject=GapSubject(group=info.group, client=info.client_id),
        )
        for info in running
        if not info.stacks
    ]


def _ways(
    brokers: list[LiveBroker], memberships: Mapping[int, tuple[GroupMembership, ...]]
) -> dict[tuple[str, str], str]:
    """Returns the address through which each instance is asked, by (group, client id).

    Brokers that know it take turns: each passes on 16 questions at a time (`adminBrokerThreadPoolNums`), and one whose
    consumer is silent holds a thread of it for ten seconds.
    """
    known: dict[tuple[str, str], list[int]] = {}
    for number, items in memberships.items():
        for item in items:
            for client in item.client_ids:
                if client not in item.proxied:
                    known.setdefault((item.group, client), []).append(number)
    load = dict.fromkeys(memberships, 0)
    ways = {
        (item.group, name): proxy
        for items in memberships.values()
        for item in items
        for name, proxy in item.proxied.items()
        if name in item.client_ids
    }
    for key, numbers in sorted(known.items()):
        chosen = min(numbers, key=lambda number: (load[number], number))
        load[chosen] += 1
        ways[key] = brokers[chosen].address.address
    return ways


def _running(key: tuple[str, str], info: ConsumerRunningInfo) -> RunningInfo:
    group, client = key
    return RunningInfo(
        group=group,
        client_id=client,
        subscriptions=tuple(sorted(map(read_subscription, info.subscription_set), key=lambda item: item.topic)),
        queues=tuple(_held(info)),
        rates=tuple(
            TopicRates(
                topic=topic,
                pull_rt_ms=status.pull_rt,
                pull_tps=status.pull_tps,
                consume_rt_ms=status.consume_rt,
                consume_ok_tps=status.consume_ok_tps,
                consume_failed_tps=status.consume_failed_tps,
                consume_failed_count=status.consume_failed_msgs,
            )
            for topic, status in sorted(info.status_table.items())
        ),
        properties=dict(info.properties),
        stacks=info.jstack,
        pops=bool(info.mq_pop_table),
        held_counts=_held_counts(info),
    )


def _held_counts(info: ConsumerRunningInfo) -> dict[str, int]:
    counts: dict[str, int] = {}
    for queue, state in sorted((info.mq_pop_table or {}).items()):
        counts[queue.topic] = counts.get(queue.topic, 0) + state.wait_ack_count
    return counts


def _held(info: ConsumerRunningInfo) -> Iterable[HeldQueue]:
    for queue, state in sorted(info.mq_table.items()):
        yield HeldQueue(
            queue=queue,
            commit_offset=state.commit_offset,
            cached_min_offset=state.cached_msg_min_offset,
            cached_max_offset=state.cached_msg_max_offset,
            cached_count=state.cached_msg_count,
            cached_mib=state.cached_msg_size_in_mib,
            transaction_min_offset=state.transaction_msg_min_offset,
            transaction_max_offset=state.transaction_msg_max_offset,
            transaction_count=state.transaction_msg_count,
            locked=state.locked,
            try_unlock_count=state.try_unlock_times,
            last_lock_time_ms=state.last_lock_timestamp,
            last_pull_time_ms=state.last_pull_timestamp,
            last_consume_time_ms=state.last_consume_timestamp,
            dropped=state.dropped,
        )
