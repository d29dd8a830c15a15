"""Half messages, op messages and what became of the transactions (RocketMQ 4.3 and later; docs/models.md)."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.stored_message import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTransaction:
    """A transaction that neither was ended nor discarded; its newest half message stands for all copies.

    Attributes:
        half_offset, physical_offset: of the newest copy of the half message.
        check_count: TRANSACTION_CHECK_TIMES of that copy, 0 when it has none: rounds of the broker, those in which no
            producer was connected among them.
        delayed: whether it has a delay level, with which no transaction comes to its end.
        keys: of the message, as sent: several are separated by spaces.
    """

    unique_key: str | None
    topic: str | None
    producer_group: str | None
    half_offset: int
    physical_offset: int
    born_time_ms: int
    store_time_ms: int
    check_count: int
    delayed: bool = False
    keys: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedTransaction:
    """A transaction that the broker gave up on, from TRANS_CHECK_MAX_TIME_TOPIC.

    Attributes:
        physical_offset: of its record there.
        check_count: check rounds of the broker.
        keys: of the message, as sent: several are separated by spaces.
    """

    unique_key: str | None
    topic: str | None
    producer_group: str | None
    discarded_time_ms: int
    born_time_ms: int | None = None
    physical_offset: int | None = None
    check_count: int | None = None
    keys: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedTransaction:
    """A committed transaction with something odd about it."""

    unique_key: str | None
    topic: str | None
    producer_group: str | None
    half_offset: int
    commit_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSender:
    """How many of the newest half messages a connected client of a producer group sent to a topic.

    Attributes:
        client_id: of the client whose connection they came by.
    """

    producer_group: str
    topic: str
    client_id: str
    half_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState:
    """The transaction topics of one broker.

    Attributes:
        half_progress, op_progress: next offsets of the check loop (H and P); None when never recorded.
        half_min_offset, half_max_offset, op_min_offset, op_max_offset: queue bounds.
        pending: transactions from H on that nobody ended (docs/models.md says how that is told).
        discarded: given up on after too many checks.
        lost_ops: committed, but no op message says so: will be checked again (after a crash of 5.x).
        double_commits: more than one committed message.
        committed_count, rolled_back_count: history that is still readable.
        online: connected clients by producer group, for the groups of `pending`; None when nobody could be asked.
        senders: who sent the newest half messages, as far as they are connected; only a live broker is asked.
    """

    half_min_offset: int
    half_max_offset: int
    op_min_offset: int
    op_max_offset: int
    half_progress: int | None = None
    op_progress: int | None = None
    pending: tuple[PendingTransaction, ...] = ()
    discarded: tuple[DiscardedTransaction, ...] = ()
    lost_ops: tuple[CommittedTransaction, ...] = ()
    double_commits: tuple[CommittedTransaction, ...] = ()
    committed_count: int = 0
    rolled_back_count: int = 0
    online: Mapping[str, int] | None = None
    senders: tuple[HalfSender, ...] = ()

    @property
    def half_behind_count(self) -> int:
        """Half messages that the check loop has not passed; copies and ended ones count."""
        start = self.half_min_offset if self.half_progress is None else self.half_progress
        return max(0, self.half_max_offset - max(start, self.half_min_offset))

    @property
    def op_behind_count(self) -> int:
        """Op messages that the check loop reads anew each round, for one before them is not done."""
        start = self.op_min_offset if self.op_progress is None else self.op_progress
        return max(0, self.op_max_offset - max(start, self.op_min_offset))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStory:
    """What one broker or store holds of a transaction.

    Attributes:
        halves: every copy of the half message, oldest first.
        committed: messages made of one of them.
        discarded: copies that were given up.
        ended_count: half messages of it that op messages name.
        open_count: half messages from the check loop's position on that no op message names.
        ended_time_ms: store time of the first of these op messages; None where nothing ended it.
        ended_by_check: whether that one names a copy that a check round made, whose place only an answer to it knows.
    """

    broker_name: str | None
    halves: tuple[StoredMessage, ...]
    committed: tuple[StoredMessage, ...] = ()
    discarded: tuple[StoredMessage, ...] = ()
    ended_count: int = 0
    open_count: int = 0
    ended_time_ms: int | None = None
    ended_by_check: bool | None = None

    @property
    def state(self) -> str:
        """`committed-twice`, `lost-op`, `committed`, `rolled-back`, `pending` or `discarded`."""
        if len(self.committed) > 1:
            return "committed-twice"
        if self.committed:
            return "committed" if self.ended_count else "lost-op"
        if self.ended_count:
            return "rolled-back"
        return "pending" if self.open_count or not self.discarded else "discarded"
