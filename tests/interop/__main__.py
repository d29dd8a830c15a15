"""`python -m tests.interop`: clients of others, kind by kind, and the table of what became of them.

python -m tests.interop --client java-5.5.0 --kind normal --kind tags
python -m tests.interop --real 5.5.0
python -m tests.interop --write --real 5.5.0    writes the table that embedded_broker/SUPPORT.md shows
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from tests.cached import UnavailableError
from tests.interop.cells import LACKS, WORKS, Outcome, chosen, keep, outcome
from tests.interop.kinds import KINDS
from tests.interop.places import EMBEDDED, REAL, Place, embedded, guard_of, real
from tests.interop.programs import PROGRAMS
from tests.real.members import NotUpError

_AT_ONCE = 2
Clients = Annotated[list[str] | None, typer.Option("--client", help=f"One of {', '.join(PROGRAMS)}; default: all.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help=f"One of {', '.join(KINDS)}; default: all.")]
Release = Annotated[str | None, typer.Option("--real", metavar="RELEASE", help="On a real broker with proxy as well.")]
Write = Annotated[bool, typer.Option("--write", help="Write what was tried into the table of SUPPORT.md.")]
Build = Annotated[bool, typer.Option("--only-build", help="Fetch and build the clients that CI uses, or those chosen.")]
Only = Annotated[bool, typer.Option("--only-real", help="On the real broker, not on the embedded one.")]


@contextmanager
def _place(directory: Path, side: str, guard: str) -> Iterator[Place]:
    directory.mkdir(parents=True)
    running = embedded(directory, guard) if side == EMBEDDED else real(directory, side, guard)
    with running as place:
        yield place


def _tried(side: str, cells: list[tuple[str, str]], home: Path) -> Iterator[Outcome]:
    """Tries cells at one place, those of several clients side by side."""
    for guard in dict.fromkeys(guard_of(side, kind) for _, kind in cells):
        wanted = [(client, kind) for client, kind in cells if guard_of(side, kind) == guard]
        running = [cell for cell in wanted if cell[1] not in PROGRAMS[cell[0]].lacks]
        yield from (Outcome(client=client, kind=kind, verdict=LACKS) for client, kind in set(wanted) - set(running))
        if not running:
            continue
        with (
            _place(home / f"{side}-{guard.replace(' ', '-')}", side, guard) as place,
            ThreadPoolExecutor(_AT_ONCE) as pool,
        ):

            def one(cell: tuple[str, str], place: Place = place) -> Outcome:
                client, kind = cell
                directory = home / f"{side}-{client}-{kind}"
                directory.mkdir()
                return outcome(client, kind, place, directory)

            yield from pool.map(one, running)


def _build(clients: list[str], home: Path) -> None:
    for client in clients:
        PROGRAMS[client].command(home)
        typer.echo(f"{client} is built")


def main(
    clients: Clients = None,
    kinds: Kinds = None,
    release: Release = None,
    only_real: Only = False,
    write: Write = False,
    only_build: Build = False,
) -> None:
    """Try cells, and print what became of each."""
    home = Path(mkdtemp(prefix="clients-"))
    done: list[tuple[str, Outcome]] = []
    try:
        cells = chosen(clients, kinds)
        if only_build:
            _build(clients or [name for name, program in PROGRAMS.items() if program.ci], home)
            cells = []
        for side in [*([] if only_real else [EMBEDDED]), *([release] if release else [])]:
            for each in _tried(side, cells, home):
                done.append((side, each))
                said = f"{side:<9} {each.client:<12} {each.kind:<16} {each.verdict:<18} {each.seconds:5.1f} s"
                typer.echo(f"{said}  {each.words}".rstrip())
    except (UnavailableError, NotUpError, ValueError) as error:
        typer.echo(error, err=True)
        raise typer.Exit(1) from None
    if write:
        keep(done, release or REAL)
    raise typer.Exit(int(any(each.verdict not in (WORKS, LACKS) for _, each in done)))


if __name__ == "__main__":
    typer.run(main)
