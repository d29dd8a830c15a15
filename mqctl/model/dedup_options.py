"""How repetitions of messages are to be told."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass

IN_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """How messages are told apart.

    Attributes:
        by: `key` for KEYS, `id` for the unique id, or the name of a property.
        states: an SQLite file, a `redis://` URL, or `:memory:` for this run only.
    """

    by: str
    states: str = IN_MEMORY
