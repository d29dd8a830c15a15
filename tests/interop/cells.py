"""Cells of the table: a client, a kind of use and a place; what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from time import monotonic

from tests.conftest import REPOSITORY
from tests.interop.clients import ClientFailed
from tests.interop.kinds import KINDS, Cell, Refused
from tests.interop.places import EMBEDDED, EMBEDDED_AS, Place
from tests.interop.programs import PROGRAMS

TABLE = REPOSITORY / "docs" / "clients.json"
"""What `docs/generate.py` makes the table of `embedded_broker/SUPPORT.md` from."""
WORKS, REFUSED, FAILS, LACKS = "works", "refused", "fails", "no such interface"
_WORDS = 300


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a cell.

    Attributes:
        verdict: `WORKS`, `REFUSED`, `FAILS` or `LACKS`.
        words: of whoever refused, or how it failed.
    """

    client: str
    kind: str
    verdict: str
    words: str = ""
    seconds: float = 0.0


def run(client: str, kind: str, place: Place, directory: Path) -> None:
    """Tries a cell in an empty directory. Raises AssertionError where it does not work, UnavailableError."""
    suffix = f"{kind.replace(' ', '_')}_{client.replace('.', '_')}_{token_hex(3)}"
    with Cell(program=PROGRAMS[client], suffix=suffix, directory=directory, place=place) as cell:
        KINDS[kind](cell)


def outcome(client: str, kind: str, place: Place, directory: Path) -> Outcome:
    """Tries a cell and returns what became of it. Raises UnavailableError."""
    if kind in PROGRAMS[client].lacks:
        return Outcome(client=client, kind=kind, verdict=LACKS)
    began, verdict, words = monotonic(), WORKS, ""
    try:
        run(client, kind, place, directory)
    except Refused as error:
        verdict, words = REFUSED, str(error)
    except (AssertionError, ClientFailed) as error:
        verdict, words = FAILS, str(error)
    return Outcome(client=client, kind=kind, verdict=verdict, words=words[:_WORDS], seconds=monotonic() - began)


def keep(done: Iterable[tuple[str, Outcome]], release: str) -> None:
    """Writes outcomes, with the side that each was tried on, over what the table had of these cells.

    Args:
        release: of real brokers; cells of another one are dropped.
    """
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    old = json.loads(TABLE.read_text(encoding="utf-8"))["cells"] if TABLE.exists() else []
    cells = {(cell["client"], cell["kind"], cell["side"]): cell for cell in old}
    for side, each in done:
        cells[each.client, each.kind, side] = {
            "client": each.client,
            "kind": each.kind,
            "side": side,
            "verdict": each.verdict,
            "words": each.words,
            "date": today,
        }
    kept = [
        cells[key]
        for client in PROGRAMS
        for kind in KINDS
        for side in (EMBEDDED, release)
        if (key := (client, kind, side)) in cells
    ]
    table = {
        "embedded": EMBEDDED_AS,
        "real": release,
        "kinds": list(KINDS),
        "clients": {name: program.title for name, program in PROGRAMS.items()},
        "cells": kept,
    }
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def chosen(clients: list[str] | None, kinds: list[str] | None) -> list[tuple[str, str]]:
    """Returns the cells of these clients and kinds, of all without a choice. Raises ValueError for other names."""
    for names, known in ((clients, PROGRAMS), (kinds, KINDS)):
        if strange := set(names or ()) - set(known):
            raise ValueError(f"{', '.join(sorted(strange))}: there are {', '.join(known)}")
    return [(client, kind) for client in clients or PROGRAMS for kind in kinds or KINDS]
