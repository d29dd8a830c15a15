"""`message consume`: a member of a group for a moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from secrets import token_hex
from time import monotonic

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.sources.groups import group_holders
from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.client.admin.broker_queries import check_subscription
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from mqctl.client.consumer.subscription import TAG, subscription
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.remoting.answers import AnswerError
from mqctl.commands.message.consume_view import ConsumedQueue, ConsumeReport, consume_document, outcome_line
from mqctl.commands.message.dedup_view import Deduplication
from mqctl.commands.message.temporary_group import temporary_group
from mqctl.errors import MqctlError
from mqctl.model.body_form import BodyForm
from mqctl.model.dedup_options import DedupOptions
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.protocol.unpacking import Unpacker
from mqctl.render.messages_view import shown_message
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import at_time, bounds, queue_addresses

_MOST_AT_ONCE = 32
_Taken = tuple[ConsumeReport, Callable[[], list[str]]]
"""What was taken, and how it is settled; both hold until the member leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeOptions:
    """What to consume.

    Attributes:
        group: a group that exists; None for a temporary one.
        count: how many messages at most.
        wait_ms: how long to wait for them.
        since_ms: where a temporary group begins: a store time, 0 for the oldest message, None for what comes from now.
        commit: commit what was shown, or acknowledge what was popped.
        invisible_ms: pop, and keep others from what was popped for so long; None pulls.
        dedup: how to tell repetitions; None does not measure them.
    """

    topic: str
    expression: str
    kind: str
    group: str | None
    count: int
    wait_ms: int
    since_ms: int | None
    commit: bool
    invisible_ms: int | None = None
    dedup: DedupOptions | None = None


def consume(target: ClusterTarget, options: ConsumeOptions, form: BodyForm, output: Output) -> list[str]:
    """Joins, takes messages, shows them, commits what was shown when that is wished, and leaves.

    What was not seen must come again: everything is written before anything is committed.

    Returns:
        the queues whose commit could not be confirmed, or the ids of popped messages whose acknowledgement was not.

    Raises:
        NotFoundError: no such topic, or no such group.
        RefusedError: a broker does not take the condition in SQL92; it would refuse each pull.
        MqctlError: the group cannot be joined.
    """
    left: list[str] = []
    with target.open() as cluster, ExitStack() as stack:
        group = options.group
        deadline = target.deadline()
        asking = Asking(cluster, deadline)
        addresses = queue_addresses(asking, options.topic)
        _check_condition(asking, addresses, options)
        if group is None:
            group = f"mqctl-{os.getpid()}-{token_hex(4)}"
            starts = _starts(asking, addresses, options.since_ms)
            made = temporary_group(cluster, deadline, group, addresses=addresses, starts=starts, left_behind=left)
            stack.enter_context(made)
        else:
            group_holders(LiveOrSaved(asking, None), group)
        joined = _popping if options.invisible_ms is not None else _pulling
        report, settle = stack.enter_context(joined(target, options, group, form))
        emit(consume_document(report), output)
        sys.stdout.flush()
        unconfirmed = settle() if options.commit else []
    for line in (outcome_line(report, unconfirmed), *left):
        tell(f"mqctl: {line}")
    return unconfirmed


@contextmanager
def _pulling(target: ClusterTarget, options: ConsumeOptions, group: str, form: BodyForm) -> Iterator[_Taken]:
    with _consumer(target, options, group) as consumer:
        messages = _collect(consumer, options)
        report = _report(options, (group, consumer.client_id), messages, form)
        yield report, lambda: _commit(consumer, options.topic, report.queues)


@contextmanager
def _popping(target: ClusterTarget, options: ConsumeOptions, group: str, form: BodyForm) -> Iterator[_Taken]:
    from mqctl.commands.message.consuming_pop import acknowledge_shown, collect_popped, pop_consumer, shown_receipts

    with pop_consumer(target, group, options.topic, options.expression, options.kind) as consumer:
        messages = collect_popped(
            consumer,
            options.topic,
            count=options.count,
            wait_ms=options.wait_ms,
            invisible_ms=options.invisible_ms or 0,
        )
        report = _report(options, (group, consumer.client_id), messages, form)
        yield (
            replace(report, queues=[], receipts=shown_receipts(messages)),
            lambda: acknowledge_shown(consumer, messages),
        )


def _check_condition(asking: Asking, addresses: dict[MessageQueue, str], options: ConsumeOptions) -> None:
    """Asks every broker: a consumer whose pulls one of them refuses gets nothing from it, and does not learn why."""
    if options.kind == TAG:
        return
    wanted = subscription(options.topic, options.expression, kind=options.kind, version=0)
    question = check_subscription("mqctl", options.group or "mqctl", wanted)
    refused = asking.put((address, address, question) for address in sorted(set(addresses.values()))).errors
    for error in refused.values():
        if isinstance(error, AnswerError):
            raise error


def _report(
    options: ConsumeOptions, member: tuple[str, str], messages: Sequence[ReceivedMessage], form: BodyForm
) -> ConsumeReport:
    ends: dict[MessageQueue, int] = {}
    for message in messages:
        ends[message.queue] = max(ends.get(message.queue, 0), message.queue_offset + 1)
    return ConsumeReport(
        group=member[0],
        client_id=member[1],
        temporary=options.group is None,
        committing=options.commit,
        queues=[
            ConsumedQueue(broker_name=queue.broker_name, queue_id=queue.queue_id, next_offset=offset)
            for queue, offset in sorted(ends.items())
        ],
        messages=[
            shown_message(item, form) for item in map(Unpacker().stored, (message.stored for message in messages))
        ],
        deduplication=_measured(options.dedup, messages),
    )


def _measured(options: DedupOptions | None, messages: Sequence[ReceivedMessage]) -> Deduplication | None:
    if options is None:
        return None
    from mqctl.commands.message.dedup import measure

    return measure(options, messages)


def _starts(asking: Asking, addresses: dict[MessageQueue, str], since_ms: int | None) -> dict[MessageQueue, int]:
    if since_ms:
        return at_time(asking, addresses, since_ms)
    ends = bounds(asking, addresses)
    return {queue: high if since_ms is None else low for queue, (low, high) in ends.items()}


def _consumer(target: ClusterTarget, options: ConsumeOptions, group: str) -> LitePullConsumer:
    settings = LitePullSettings(
        auto_commit=False,
        consume_from=ConsumeFrom.LAST_OFFSET,
        pull_batch_size=min(_MOST_AT_ONCE, options.count),
        rebalance_period_ms=1_000,
    )
    client = ClientSettings(name_servers=target.namesrv, links=target.links())
    consumer = LitePullConsumer(group, client, settings)
    consumer.subscribe(options.topic, options.expression, kind=options.kind)
    return consumer


def _collect(consumer: LitePullConsumer, options: ConsumeOptions) -> list[ReceivedMessage]:
    messages: list[ReceivedMessage] = []
    ends_at = monotonic() + options.wait_ms / 1000
    while len(messages) < options.count and (left_s := ends_at - monotonic()) > 0:
        messages += consumer.poll(max(1, round(left_s * 1000)))[: options.count - len(messages)]
    return messages


def _commit(consumer: LitePullConsumer, topic: str, queues: list[ConsumedQueue]) -> list[str]:
    """Commits exactly what was shown, reads it back, and returns the queues that do not hold it."""
    for item in queues:
        try:
            consumer.seek(MessageQueue(topic, item.broker_name, item.queue_id), item.next_offset)
        except MqctlError as error:
            tell(f"mqctl: {error}")
    consumer.commit()
    unconfirmed = []
    for item in queues:
        try:
            held = consumer.committed(MessageQueue(topic, item.broker_name, item.queue_id))
        except MqctlError as error:
            tell(f"mqctl: {error}")
            held = None
        if held is None or held < item.next_offset:
            unconfirmed.append(f"{item.broker_name}/{item.queue_id}")
    return unconfirmed
