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
    "plan": Room(("mqctl/plan",), ("tests/plan",)),
    "protocol": Room(("mqctl/protocol",), ("tests/protocol",)),
    "rules": Room(("mqctl/rules",), ("tests/rules",)),
    "rules-engine": Room(("mqctl/rules/engine",), ("tests/rules/engine",)),
    "store": Room(("mqctl/store",), ("tests/store",)),
    "broker-log": Room(("embedded_broker/log",), ("tests/embedded_broker", "-k", "log or store or queue")),
    "broker-tables": Room(("embedded_broker/tables",), ("tests/embedded_broker", "-k", "table or attribute or config")),
    "broker-pop": Room(("embedded_broker/pop",), ("tests/embedded_broker", "-k", "pop")),
}
