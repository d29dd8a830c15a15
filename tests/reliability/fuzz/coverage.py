"""What of our readers an input reaches, and the inputs that reached something new: the next ones are made of them.

Arcs are pairs of lines of one code object of `mqctl` or `embedded_broker`. Tracing costs ten times what reading does,
so most inputs are read untraced: a share of them is read a second time under the tracer, and so is every one that ends
in words that no input ended in before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

from mqctl.errors import MqctlError
from tests.conftest import REPOSITORY

TRACED_EVERY = 12
_SEEDS_TRACED = 60
_MOST_KEPT = 4_000
_LONGEST_KEPT = 1 << 14
_OURS = (f"{REPOSITORY}/mqctl/", f"{REPOSITORY}/embedded_broker/")
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\\x..")

Arc = tuple[CodeType, int, int]


def arcs_of(read: Callable[[], object]) -> set[Arc]:
    """Runs `read` and returns the arcs of our code that this thread went along; how it ends does not matter."""
    arcs: set[Arc] = set()
    last: dict[FrameType, int] = {}

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            arcs.add((frame.f_code, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return":
            last.pop(frame, None)
        return local

    def entered(frame: FrameType, _event: str, _argument: object) -> Any:
        return local if frame.f_code.co_filename.startswith(_OURS) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        read()
    except Exception:  # noqa: BLE001 - the same input has been judged before
        return arcs
    finally:
        sys.settrace(before)
    return arcs


def words_of(error: MqctlError | None) -> str:
    """How a reader ended, without what differs from input to input."""
    return "" if error is None else f"{type(error).__name__} {_VARYING.sub('#', error.reason or error.problem)[:160]}"


@dataclass
class Guide:
    """The corpus of one target.

    Attributes:
        seeds: what was recorded or made.
        kept: inputs that reached arcs which none before them did, oldest first.
        seed_arcs: how many arcs the seeds reach (of the first 60 and every one that was edited since).
    """

    seeds: Sequence[bytes]
    kept: list[bytes] = field(default_factory=list)
    arcs: set[Arc] = field(default_factory=set)
    seed_arcs: int = 0
    _endings: set[str] = field(default_factory=set)
    _began: bool = False
    _count: int = 0

    def begin(self, read: Callable[[bytes], object], random: Random) -> None:
        """Traces seeds, a sample where there are many, and what earlier runs have kept."""
        if self._began:
            return
        self._began = True
        for seed in random.sample(self.seeds, min(_SEEDS_TRACED, len(self.seeds))):
            self.arcs |= arcs_of(lambda data=seed: read(data))  # type: ignore[misc]
        self.seed_arcs = len(self.arcs)
        for data in self.kept:
            self.arcs |= arcs_of(lambda data=data: read(data))  # type: ignore[misc]

    def choose(self, random: Random) -> bytes:
        """A seed to edit: half of them are kept inputs, young ones more often."""
        if self.kept and random.getrandbits(1):
            return self.kept[-1 - int(len(self.kept) * random.random() ** 2)]
        return self.seeds[int(random.random() * len(self.seeds))]

    def look(self, read: Callable[[bytes], object], data: bytes, ending: str) -> None:
        """Traces an input when it is its turn, or when it ended as none did; keeps it when it got somewhere new."""
        self._count += 1
        is_new = ending not in self._endings and len(self._endings) < _MOST_KEPT
        if not is_new and self._count % TRACED_EVERY:
            return
        self._endings.add(ending)
        if len(data) > _LONGEST_KEPT or len(self.kept) >= _MOST_KEPT:
            return
        arcs = arcs_of(lambda: read(data))
        if not arcs <= self.arcs:
            self.arcs |= arcs
            self.kept.append(data)

    def load(self, directory: Path) -> None:
        """Takes over what an earlier run kept."""
        if directory.is_dir():
            self.kept = [path.read_bytes() for path in sorted(directory.iterdir())][:_MOST_KEPT]

    def save(self, directory: Path) -> None:
        """Writes what was kept, for a later run."""
        directory.mkdir(parents=True, exist_ok=True)
        for data in self.kept:
            (directory / sha256(data).hexdigest()[:16]).write_bytes(data)
