"""What consumer instances of a live cluster say of themselves (307), through the broker or proxy that knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.answers import AnswerError
from mqctl.errors import DeadlineError, MqctlError
from mqctl.model.command_line import shell_words
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo, TopicRates, is_grpc_client
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.members import OFFLINE, read_subscription
from mqctl.text import sentence


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
    unasked = _at_unnamed_proxies(asking, memberships)
    ways = {key: way for key, way in _ways(brokers, memberships).items() if key not in unasked}
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
    return running, (*gaps, *(_not_asked(key, proxy) for key, proxy in sorted(unasked.items())))


def _at_unnamed_proxies(
    asking: Asking, memberships: Mapping[int, tuple[GroupMembership, ...]]
) -> dict[tuple[str, str], str]:
    """Returns the clients, by group and id, whose proxy is known from what it tells other proxies, and not asked."""
    return {
        (item.group, name): proxy
        for items in memberships.values()
        for item in items
        for name, proxy in item.proxied.items()
        if proxy not in asking.cluster.proxies
    }


def _client(key: tuple[str, str]) -> GapSubject:
    return GapSubject(group=key[0], client=key[1])


def _not_passed_on(key: tuple[str, str], error: MqctlError) -> Gap:
    """Returns the gap of a client of a proxy: proxies of 5.3.3 and 5.5.0 lose the question on the way to it."""
    if not isinstance(error, AnswerError | DeadlineError):
        return Gap.of(Part.RUNNING_INFO, error, _client(key))
    reason = (
        sentence("snapshot-proxy-asks-no-grpc", "it is a gRPC client, and proxies ask no gRPC client what it is doing")
        if is_grpc_client(key[1])
        else sentence("snapshot-proxy-gave-no-answer", "its proxy was asked, and gave no answer of the client")
    )
    return Gap(part=Part.RUNNING_INFO, cause=Cause.UNSUPPORTED, reason=reason, subject=_client(key))


def _not_asked(key: tuple[str, str], proxy: str) -> Gap:
    reason = sentence(
        "snapshot-behind-proxy-not-asked",
        "it is behind the proxy {proxy}, which was not asked: with {variable} it is",
        proxy=proxy,
        variable=shell_words([f"MQCTL_PROXY={proxy}"]),
    )
    return Gap(part=Part.RUNNING_INFO, cause=Cause.LEFT_OUT, reason=reason, subject=_client(key))


def without_stacks(running: Iterable[RunningInfo]) -> list[Gap]:
    """Names the instances that answered without the stacks they were asked for."""
    reason = sentence(
        "snapshot-client-without-stacks",
        "it answers without stacks: its client does not support them; on its host mqctl stacks dump --pid reads them",
    )
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
        pops=bool(info.mq_pop_table) and not is_grpc_client(client),
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
