"""Clients of others, kind by kind: the cells of the table in `embedded_broker/SUPPORT.md`."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    side, guard = request.param
    directory = tmp_path_factory.mktemp("place")
    with ExitStack() as stack:
        if side == EMBEDDED:
            yield stack.enter_context(embedded(directory, guard))
        else:
            require(side)
            stack.enter_context(turn())
            yield stack.enter_context(real(directory, side, guard))


def cells(*sides: str, first: bool = False) -> list[object]:
    """Returns the cells that a client has an interface for, with their ring: place, client, kind."""
    return [
        pytest.param(
            (side, guard_of(side, kind)),
            client,
            kind,
            id=f"{side}-{client}-{kind.replace(' ', '_')}",
            marks=pytest.mark.long if side == EMBEDDED and program.ci and not first else pytest.mark.real,
        )
        for side in sides
        for client, program in PROGRAMS.items()
        for kind in (program.first if first else KINDS)
        if kind not in program.lacks
    ]


def tried(place: Place, client: str, kind: str, directory: Path) -> None:
    try:
        with pytest.raises(Refused) if kind in PROGRAMS[client].refuses else nullcontext():
            run(client, kind, place, directory)
    except UnavailableError as error:
        leave_out(f"client {client}: {error}")


@pytest.mark.parametrize(("place", "client", "kind"), cells(EMBEDDED), indirect=["place"])
def test_it_works_with_the_embedded_broker(place: Place, client: str, kind: str, tmp_path: Path) -> None:
    tried(place, client, kind, tmp_path)


@pytest.mark.parametrize(("place", "client", "kind"), cells(REAL), indirect=["place"])
def test_it_works_with_a_real_one(place: Place, client: str, kind: str, tmp_path: Path) -> None:
    tried(place, client, kind, tmp_path)


@pytest.mark.parametrize(("place", "client", "kind"), cells(EMBEDDED, REAL, first=True), indirect=["place"])
def test_one_client_of_each_language_in_every_run(place: Place, client: str, kind: str, tmp_path: Path) -> None:
    tried(place, client, kind, tmp_path)
