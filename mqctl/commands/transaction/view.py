"""Transactions as tables: pending and discarded ones, one of them in full, and how far the check loop is."""

from __future__ import annotations

from mqctl.model.counts import counted
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.transaction_state import DiscardedTransaction, PendingTransaction, TransactionState
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, composed, printable, sentence
from mqctl.units import Instant

_BROKER = Column("broker_name", "broker", none="?")
COLUMNS = (
    _BROKER,
    Column("state", "state", CellKind.WORDS),
    Column("unique_key", "transaction", none="?"),
    Column("topic", "topic", none="?"),
    Column("producer_group", "producer group", none="?"),
    Column("age_ms", "age", CellKind.DURATION_MS, none="?"),
    Column("born_time_ms", "since", CellKind.TIME_MS, none="?"),
    Column("keys", "keys"),
    Column("checks", "checks", none="?"),
    Column("online_count", "online", CellKind.COUNT, none="?"),
    Column("discarded_time_ms", "given up", CellKind.TIME_MS),
    Column("half_offset", "half offset", CellKind.COUNT, wide=True),
)
LOOP_COLUMNS = (
    _BROKER,
    Column("pending_count", "pending", CellKind.COUNT),
    Column("discarded_count", "given up", CellKind.COUNT),
    Column("half_progress", "half offset", CellKind.COUNT, none="none"),
    Column("half_behind_count", "half behind", CellKind.COUNT),
    Column("op_progress", "op offset", CellKind.COUNT, none="none"),
    Column("op_behind_count", "op behind", CellKind.COUNT),
    Column("lost_op_count", "lost ops", CellKind.COUNT, none="?"),
    Column("double_commit_count", "committed twice", CellKind.COUNT, none="?"),
)
COPY_COLUMNS = (
    _BROKER,
    Column("kind", "what", CellKind.WORDS),
    Column("topic", "topic"),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("store_time_ms", "stored", CellKind.TIME_MS),
    Column("check_count", "checks", CellKind.COUNT),
    Column("message_id", "offset id", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRow:
    """A transaction that is `pending`, or that the broker has `discarded`.

    Attributes:
        age_ms, born_time_ms: since the half message was born, and when that was.
        keys: of the message, as sent: several are separated by spaces.
        check_limit: checks after which the broker gives up (`transactionCheckMax`); None when it does not tell.
        online_count: clients of the producer group that this broker could ask; None when nobody could tell.
        half_offset: of the newest half message; None for a discarded one.
    """

    broker_name: str | None
    state: str
    unique_key: str | None
    topic: str | None
    producer_group: str | None
    age_ms: int | None
    born_time_ms: int | None
    keys: str | None
    check_count: int | None
    check_limit: int | None
    online_count: int | None
    discarded_time_ms: int | None
    half_offset: int | None

    @property
    def checks(self) -> str | None:
        """Check rounds of the broker, of how many there are at most."""
        if self.check_count is None:
            return None
        limit = (
            ""
            if self.check_limit is None
            else sentence("transaction-check-limit", " of {check_limit:,}", check_limit=self.check_limit)
        )
        return composed("{count:,}{limit}", count=self.check_count, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLoopRow:
    """How far one broker's check loop is.

    Attributes:
        half_progress, op_progress: next offsets to look at; None when none is recorded.
        half_behind_count: half messages it has not passed, ended ones and copies included.
        op_behind_count: op messages it reads anew each round, for one before them is not done: the op gap.
        lost_op_count: committed without an op message; None when the commit log was not read through.
    """

    broker_name: str | None
    pending_count: int
    discarded_count: int
    half_progress: int | None
    half_max_offset: int
    half_behind_count: int
    op_progress: int | None
    op_max_offset: int
    op_behind_count: int
    lost_op_count: int | None
    double_commit_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionList:
    """Machine form of `transaction list`."""

    transactions: list[TransactionRow]
    check_loops: list[CheckLoopRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCopy:
    """One record of a transaction: a `half` message, an `op` message, the `committed` or the `discarded` message."""

    broker_name: str | None
    kind: str
    topic: str
    queue_offset: int
    physical_offset: int
    store_time_ms: int
    check_count: int
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDetail:
    """Machine form of `transaction show`.

    Attributes:
        keys: of the message, as sent: several are separated by spaces.
        check_limit: checks after which its broker gives up (`transactionCheckMax`); None when it does not tell.
        state: `pending`, `committed`, `rolled-back`, `discarded`, `lost-op` (committed, and will be checked again) or
            `committed-twice`.
        op_count: its half messages that op messages name.
        check_count: check rounds of the broker; whether a producer was connected in them is not known.
        ended_time_ms: when the first op message that ended it was stored; None where nothing ended it.
        ended_by_check: whether the end was the answer to a check, None where nothing ended it.
    """

    unique_key: str
    state: str
    topic: str | None
    producer_group: str | None
    born_time_ms: int | None
    check_count: int
    op_count: int
    commit_count: int
    copies: list[TransactionCopy]
    keys: str | None = None
    check_limit: int | None = None
    ended_time_ms: int | None = None
    ended_by_check: bool | None = None


def transaction_rows(snapshot: ClusterSnapshot) -> list[TransactionRow]:
    """Returns every pending and discarded transaction, the oldest first."""
    rows = []
    now_ms = snapshot.origin.observed_at_ms
    for broker in snapshot.brokers:
        state = broker.transactions
        if state is None:
            continue
        limit = decimal(broker.config.get("transactionCheckMax"))
        rows += [_pending(broker.name, item, state, now_ms, limit) for item in state.pending]
        rows += [_discarded(broker.name, item, state, now_ms, limit) for item in state.discarded]
    return sorted(rows, key=lambda row: (row.state != "pending", -(row.age_ms or 0)))


def _online(state: TransactionState, group: str | None) -> int | None:
    return None if state.online is None or group is None else state.online.get(group)


def _pending(
    name: str | None, item: PendingTransaction, state: TransactionState, now_ms: int, check_limit: int | None
) -> TransactionRow:
    return TransactionRow(
        broker_name=name,
        state="pending",
        unique_key=item.unique_key,
        topic=item.topic,
        producer_group=item.producer_group,
        age_ms=now_ms - item.born_time_ms,
        born_time_ms=item.born_time_ms,
        keys=item.keys,
        check_count=item.check_count,
        check_limit=check_limit,
        online_count=_online(state, item.producer_group),
        discarded_time_ms=None,
        half_offset=item.half_offset,
    )


def _discarded(
    name: str | None, item: DiscardedTransaction, state: TransactionState, now_ms: int, check_limit: int | None
) -> TransactionRow:
    return TransactionRow(
        broker_name=name,
        state="discarded",
        unique_key=item.unique_key,
        topic=item.topic,
        producer_group=item.producer_group,
        age_ms=None if item.born_time_ms is None else now_ms - item.born_time_ms,
        born_time_ms=item.born_time_ms,
        keys=item.keys,
        check_count=item.check_count,
        check_limit=check_limit,
        online_count=_online(state, item.producer_group),
        discarded_time_ms=item.discarded_time_ms,
        half_offset=None,
    )


def loop_rows(snapshot: ClusterSnapshot) -> list[CheckLoopRow]:
    """Returns how far each broker's check loop is; brokers that never held a half message are left out."""
    return [
        CheckLoopRow(
            broker_name=broker.name,
            pending_count=len(state.pending),
            discarded_count=len(state.discarded),
            half_progress=state.half_progress,
            half_max_offset=state.half_max_offset,
            half_behind_count=state.half_behind_count,
            op_progress=state.op_progress,
            op_max_offset=state.op_max_offset,
            op_behind_count=state.op_behind_count,
            lost_op_count=None if _unread(snapshot, broker) else len(state.lost_ops),
            double_commit_count=None if _unread(snapshot, broker) else len(state.double_commits),
        )
        for broker in snapshot.brokers
        if (state := broker.transactions) is not None
    ]


def _unread(snapshot: ClusterSnapshot, broker: BrokerSnapshot) -> bool:
    """Tells whether nobody read the commit log through, without which committed messages are not known."""
    return snapshot.origin.kind is OriginKind.LIVE or broker.lacks(Part.VERIFICATION) is not None


def loop_columns(loops: list[CheckLoopRow]) -> list[Column]:
    """Leaves out what only a commit log that was read through tells, where none was."""
    read = any(loop.lost_op_count is not None for loop in loops)
    return [item for item in LOOP_COLUMNS if read or item.key not in ("lost_op_count", "double_commit_count")]


def list_document(
    rows: list[TransactionRow], loops: list[CheckLoopRow], *, left_out: int = 0, scoped: bool = False
) -> Document:
    """Builds the document of `transaction list`.

    Args:
        left_out: how many rows are beyond the asked count.
        scoped: groups or topics were named: people see the loops of brokers, which are of all, beside rows only.
    """
    value = TransactionList(transactions=rows, check_loops=loops)
    blocks: list[Table | Paragraphs] = [
        Table(
            COLUMNS,
            rows,
            empty=sentence("empty-no-transaction-is-pending-or-given-up", "no transaction is pending or given up"),
        )
    ]
    if left_out:
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "transaction-count-shows",
                        "and {left_out}: --count shows them",
                        left_out=counted(left_out, "more transaction"),
                    )
                ]
            )
        )
    if loops and (rows or not scoped):
        blocks.append(Table(loop_columns(loops), loops, title=sentence("title-check-loops", "check loops")))
        if any(loop.lost_op_count is not None for loop in loops):
            blocks.append(
                Paragraphs(
                    [
                        sentence(
                            "transaction-lost-ops-committed-but",
                            "lost ops: committed, but the record of it is lost: producers are asked again",
                        )
                    ]
                )
            )
    return Document(schema="transaction.list/1", value=value, records=rows, csv_columns=COLUMNS, blocks=blocks)


def detail_document(detail: TransactionDetail) -> Document:
    """Builds the document of `transaction show`."""
    ended = counted(detail.op_count, "half message")
    lines = [
        sentence(
            "transaction-producer-group-checked",
            "transaction {unique_key} of producer group {producer_group} for {topic}: {state}, "
            "{check_count}, {ended} ended",
            unique_key=detail.unique_key,
            producer_group=detail.producer_group or "?",
            topic=detail.topic or "?",
            state=Word(detail.state),
            check_count=counted(detail.check_count, "check round"),
            ended=ended,
        ),
        *_end_lines(detail),
        *([sentence("transaction-keys", "keys: {keys}", keys=printable(detail.keys))] if detail.keys else []),
        *(
            [
                sentence(
                    "transaction-broker-gives-up-after",
                    "its broker gives up after {check_limit}",
                    check_limit=counted(detail.check_limit, "check"),
                )
            ]
            if detail.check_limit is not None and detail.state == "pending"
            else []
        ),
    ]
    return Document(
        schema="transaction.show/1",
        value=detail,
        records=detail.copies,
        csv_columns=COPY_COLUMNS,
        blocks=[Paragraphs(lines), Table(COPY_COLUMNS, detail.copies)],
    )


def _end_lines(detail: TransactionDetail) -> list[str]:
    if detail.ended_time_ms is None:
        return []
    moment = Instant(detail.ended_time_ms)
    if detail.ended_by_check:
        return [sentence("transaction-ended-by-check", "ended at {moment}, by the answer to a check", moment=moment)]
    return [
        sentence("transaction-ended-by-producer", "ended at {moment}, by its producer, not by a check", moment=moment)
    ]
