"""The pure rooms, and the tests that have to notice what is planted in them: those of the same room and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Room:
    """A room whose functions depend on nothing but their arguments.

    Attributes:
        sources: files, and directories with all modules in them, relative to the repository.
        tests: what `pytest` is given.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def modules(self, root: Path) -> Iterator[Path]:
        """Yields its modules, relative to `root`."""
        for source in self.sources:
            place = root / source
            files: Iterable[Path] = sorted(place.rglob("*.py")) if place.is_dir() else [place]
            yield from (file.relative_to(root) for file in files if file.name != "__init__.py")


_LAG = ("lag", "lag_condition", "lag_trend")
ROOMS = {
    "allocation": Room(("mqctl/allocation",), ("tests/allocation",)),
    "filter": Room(("mqctl/filter",), ("tests/filter",)),
    "lag": Room(
        ("mqctl/lag", *(f"mqctl/model/{name}.py" for name in _LAG)),
        ("tests/lag", *(f"tests/model/test_{name}.py" for name in _LAG)),
    ),
    "model": Room(("mqctl/model",), ("tests/model",)),
    "plan": Room(("mqctl/changes/plan",), ("tests/changes/plan",)),
    "protocol": Room(("mqctl/protocol",), ("tests/protocol",)),
    "rules": Room(("mqctl/rules",), ("tests/rules",)),
    "rules-engine": Room(("mqctl/rules/engine",), ("tests/rules/engine",)),
    "store": Room(("mqctl/store",), ("tests/store",)),
    "broker-log": Room(
        ("embedded_broker/log",),
        tuple(
            f"tests/embedded_broker/test_{name}.py"
            for name in ("log_reader", "light_queues", "index_backlog", "storage", "store_recovery")
        ),
    ),
    "broker-tables": Room(
        ("embedded_broker/tables", "embedded_broker/consumers/offsets.py"),
        ("tests/embedded_broker/test_tables.py", "tests/embedded_broker/test_built_in.py"),
    ),
    "broker-pop": Room(
        (
            "embedded_broker/pop",
            *(f"embedded_broker/handlers/{name}.py" for name in ("pop_message", "pop_checks", "pop_notification")),
            "embedded_broker/handlers/ack_message.py",
        ),
        tuple(
            f"tests/embedded_broker/test_pop{name}.py"
            for name in ("_orders", "_polls", "_assignments", "_times", "_taking", "", "_replay")
        ),
    ),
    "broker-transactions": Room(
        (
            "embedded_broker/transactions",
            *(f"embedded_broker/handlers/{name}.py" for name in ("end_transaction", "resume_check")),
        ),
        (
            "tests/embedded_broker/test_transaction_rounds.py",
            "tests/embedded_broker/test_transactions.py",
            *("-k", "not files_tell"),  # which runs commands
        ),
    ),
    "broker-replication": Room(
        (
            "embedded_broker/ha",
            *(f"embedded_broker/handlers/{name}.py" for name in ("ha_status", "acting_master")),
        ),
        tuple(
            f"tests/embedded_broker/test_{name}.py"
            for name in ("replication_by_hand", "ha_streams", "acting_master", "replication")
        ),
    ),
}
