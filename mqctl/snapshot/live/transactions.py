"""Transactions of live brokers: what the check loop still has to do, who could answer, what was given up."""

from __future__ import annotations

from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError, UnsupportedError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.message import PRODUCER_GROUP, Message
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, ROCKSDB_HALF_TOPIC, TRANSACTION_GROUP
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.transaction_state import TransactionState
from mqctl.snapshot.half_messages import discarded_of, ended_offsets, half_of, pending_of, senders_of
from mqctl.snapshot.live.asking import Asking, Scope, out_of_reach, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings, ask_topics, list_brokers, masters_of, release_heard
from mqctl.snapshot.live.records import OffsetRange, queue_ranges, read_records
from mqctl.text import sentence

MANY_HALVES, FEW_HALVES = 20_000, 1_000
_SAMPLED = 256
_NOBODY = frozenset({1})


def gather_live_transactions(
    asking: Asking, scope: Scope, *, now_ms: int, limit: int = MANY_HALVES
) -> tuple[ClusterSnapshot, list[LiveBroker]]:
    """Gathers the transactions of every master in question, and no more than rules about them need.

    Args:
        limit: half messages read of each broker at most; what lies behind is named as not read.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
    """
    addresses = asking.cluster.brokers(asking.deadline)
    brokers = masters_of(list_brokers(asking, addresses, scope))
    ask_topics(asking, brokers)
    # Of the limit of checks, and of the engine: a broker may never have had a half message that is in no database.
    ask_settings(asking, [item for item in brokers if HALF_TOPIC in item.topics or ROCKSDB_HALF_TOPIC in item.topics])
    states = transaction_states(asking, brokers, limit=limit)
    location = ";".join(asking.cluster.name_servers.addresses())
    snapshot = ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location=location, observed_at_ms=now_ms, observed_from=ObservedFrom.CLOCK),
        brokers=tuple(
            BrokerSnapshot(
                name=broker.name,
                cluster=broker.address.cluster,
                address=broker.address.address,
                broker_id=broker.address.broker_id,
                version=release_heard(asking, broker),
                transactions=states.get(number),
                config=broker.config,
                unavailable=tuple(broker.gaps),
            )
            for number, broker in enumerate(brokers)
        ),
    )
    return snapshot, brokers


def transaction_states(asking: Asking, brokers: list[LiveBroker], *, limit: int) -> dict[int, TransactionState]:
    """Looks at the transactions of masters whose topics were asked, by their number in `brokers`.

    A broker that never held a half message has no state; one that does not tell gets a gap.
    """
    states: dict[int, TransactionState] = {}
    for number, broker in enumerate(brokers):
        if _in_database(broker):
            broker.miss(Part.TRANSACTIONS, UnsupportedError(_IN_DATABASE))
        elif ROCKSDB_HALF_TOPIC in broker.topics and not broker.lost:
            broker.gaps += [replace(gap, part=Part.TRANSACTIONS) for gap in broker.gaps if gap.part is Part.CONFIG]
        if broker.lost or any(gap.part is Part.TOPICS for gap in broker.gaps):
            broker.gaps.append(replace(broker.gaps[0], part=Part.TRANSACTIONS))
        elif HALF_TOPIC in broker.topics:
            try:
                states[number] = _state(asking, broker, limit)
            except MqctlError as error:
                broker.miss(Part.TRANSACTIONS, error)
                broker.lost = broker.lost or out_of_reach(error)
    return states


_IN_DATABASE = sentence(
    "transactions-in-database",
    "the broker keeps transactions in a RocksDB database (transRocksDBEnable), and no request shows them",
)


def _in_database(broker: LiveBroker) -> bool:
    """Tells whether a broker of 5.4.0 or newer keeps new half messages in RocksDB: with the first setting alone they
    go to the topic as ever."""
    return (broker.config.get("transRocksDBEnable"), broker.config.get("transWriteOriginTransHalfEnable")) == (
        "true",
        "false",
    )


def _state(asking: Asking, broker: LiveBroker, limit: int) -> TransactionState:
    """Reads one broker's transaction topics. Raises MqctlError when it does not tell."""
    half, op = queue_ranges(asking, broker, HALF_TOPIC, OP_TOPIC)
    # The check loop moves both: what it passes in between are half messages that are not looked at any more.
    op_progress, progress = (_progress(asking, broker, topic) for topic in (OP_TOPIC, HALF_TOPIC))
    start = max(half.first, progress or 0)
    halves = _some(asking, broker, OffsetRange(HALF_TOPIC, start, half.end), limit)
    # Ops below the recorded offset are about half messages that the check loop has passed.
    ops = _some(asking, broker, OffsetRange(OP_TOPIC, max(op.first, op_progress or 0), op.end), limit * 2)
    ended = ended_offsets(ops)
    pending = tuple(pending_of((half_of(item.queue_offset, item) for item in halves), ended, start))
    given_up = _given_up(asking, broker, limit)
    discarded = tuple(discarded_of(item) for item in given_up)
    sample = OffsetRange(HALF_TOPIC, max(half.first, min(start, half.end - _SAMPLED)), start)
    newest = [half_of(item.queue_offset, item) for item in (*read_records(asking, broker, sample), *halves)]
    groups = {item.producer_group for item in pending} | {item.producer_group for item in discarded}
    groups |= {item.message.properties.get(PRODUCER_GROUP) for item in newest}
    clients = _clients(asking, broker, {group for group in groups if group})
    return TransactionState(
        half_min_offset=half.first,
        half_max_offset=half.end,
        op_min_offset=op.first,
        op_max_offset=op.end,
        half_progress=progress,
        op_progress=op_progress,
        pending=pending,
        discarded=discarded,
        online={group: len(own) for group, own in clients.items()},
        senders=senders_of(newest, clients),
    )


def _some(asking: Asking, broker: LiveBroker, offsets: OffsetRange, limit: int) -> list[Message]:
    """Reads a range up to a limit; what lies behind is named as not read."""
    if offsets.count > limit:
        reason = sentence(
            "snapshot-messages-passed-check-loop",
            "the check loop has not passed {count:message}; mqctl looked at the first {limit:,}",
            count=offsets.count,
            limit=limit,
        )
        subject = GapSubject(topic=offsets.topic)
        broker.gaps.append(Gap(part=Part.TRANSACTIONS, cause=Cause.LEFT_OUT, reason=reason, subject=subject))
    end = min(offsets.end, offsets.first + limit)
    return read_records(asking, broker, OffsetRange(offsets.topic, offsets.first, end))


def _given_up(asking: Asking, broker: LiveBroker, limit: int) -> list[Message]:
    """Reads the newest messages of the discard topic."""
    if DISCARD_TOPIC not in broker.topics:
        return []
    (ranges,) = queue_ranges(asking, broker, DISCARD_TOPIC)
    return read_records(asking, broker, OffsetRange(DISCARD_TOPIC, max(ranges.first, ranges.end - limit), ranges.end))


def _progress(asking: Asking, broker: LiveBroker, topic: str) -> int | None:
    question = ask.consumer_offset(TRANSACTION_GROUP, topic, 0)
    return asking.cluster.ask(broker.address.address, question, asking.deadline)


def _clients(asking: Asking, broker: LiveBroker, groups: set[str]) -> dict[str, dict[str, str]]:
    """Returns the clients of producer groups at this broker by address: only those can be asked by its check loop."""
    answers = asking.put((group, broker.address.address, ask.producer_connections(group)) for group in sorted(groups))
    clients = {
        group: {item.client_addr.lstrip("/"): item.client_id for item in connections.connection_set}
        for group, connections in answers.values.items()
    }
    for group, error in answers.errors.items():
        if refused_with(error, _NOBODY):
            clients[group] = {}
        else:
            broker.miss(Part.PRODUCERS, error, GapSubject(producer_group=group))
    return clients
