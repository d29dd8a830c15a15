"""One transaction with all its records, and how it ended (docs/models.md, "What became of a transaction")."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.model.stored_message import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStory:
    """What one broker or store holds of a transaction.

    Attributes:
        halves: every copy of the half message, oldest first.
        committed: messages made of one of them.
        discarded: copies that were given up.
        ended_count: half messages of it that op messages name.
        open_count: half messages from the check loop's position on that no op message names.
    """

    broker_name: str | None
    halves: tuple[StoredMessage, ...]
    committed: tuple[StoredMessage, ...] = ()
    discarded: tuple[StoredMessage, ...] = ()
    ended_count: int = 0
    open_count: int = 0

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
