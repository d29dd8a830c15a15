"""Clients of others, kind by kind: the cells of the table in `embedded_broker/SUPPORT.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from tests.cached import UnavailableError
from tests.interop.cells import run
from tests.interop.kinds import KINDS, Refused
from tests.interop.places import EMBEDDED, REAL, Place, embedded, guard_of, real
from tests.interop.programs import PROGRAMS
from tests.real.conftest import require, turn
from tests.requires import leave_out

Where = tuple[str, str]
Places = Callable[[Where], Place]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """Gives the place of a side and a guard; it stays until another one is asked for, since only one runs at a time."""
    with ExitStack() as stack:
        running: dict[Where, Place] = {}

        def place(where: Where) -> Place:
            if where not in running:
                stack.close()
                running.clear()
                side, guard = where
                directory = tmp_path_factory.mktemp("place")
                if side == EMBEDDED:
                    running[where] = stack.enter_context(embedded(directory, guard))
                else:
                    require(side)
                    stack.enter_context(turn())
                    running[where] = stack.enter_context(real(directory, side, guard))
            return running[where]

        yield place


def cells(*sides: str, first: bool = False) -> list[object]:
    """Returns the cells that a client has an interface for, with their ring: place, client, kind; by places."""
    every = [
        ((side, guard_of(side, kind)), client, kind)
        for side in sides
        for client, program in PROGRAMS.items()
        for kind in (program.first if first else KINDS)
        if kind not in program.lacks
    ]
    return [
        pytest.param(
            where,
            client,
            kind,
            id=f"{where[0]}-{client}-{kind.replace(' ', '_')}",
            marks=pytest.mark.long if where[0] == EMBEDDED and PROGRAMS[client].ci and not first else pytest.mark.real,
        )
        for where, client, kind in sorted(every, key=lambda cell: cell[0])
    ]


def tried(place: Place, client: str, kind: str, directory: Path) -> None:
    try:
        with pytest.raises(Refused) if kind in PROGRAMS[client].refuses else nullcontext():
            run(client, kind, place, directory)
    except UnavailableError as error:
        leave_out(f"client {client}: {error}")


@pytest.mark.parametrize(("where", "client", "kind"), cells(EMBEDDED))
def test_it_works_with_the_embedded_broker(
    places: Places, where: Where, client: str, kind: str, tmp_path: Path
) -> None:
    tried(places(where), client, kind, tmp_path)


@pytest.mark.parametrize(("where", "client", "kind"), cells(REAL))
def test_it_works_with_a_real_one(places: Places, where: Where, client: str, kind: str, tmp_path: Path) -> None:
    tried(places(where), client, kind, tmp_path)


@pytest.mark.parametrize(("where", "client", "kind"), cells(EMBEDDED, REAL, first=True))
def test_one_client_of_each_language_in_every_run(
    places: Places, where: Where, client: str, kind: str, tmp_path: Path
) -> None:
    tried(places(where), client, kind, tmp_path)
