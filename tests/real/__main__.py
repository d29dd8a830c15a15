"""`python -m tests.real`: real clusters by hand.

python -m tests.real up 5.5.0 --slave    prints the address of the name server
python -m tests.real status
python -m tests.real down
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tests.cached import UnavailableError, cache
from tests.real.artifacts import RELEASES, jars
from tests.real.cluster import Plan, RealCluster, load, up
from tests.real.members import NotUpError

app = typer.Typer(help="Clusters of released RocketMQ brokers on loopback.", no_args_is_help=True)
Release = Annotated[str, typer.Argument(help=f"One of {', '.join(RELEASES)}, or any other that Maven has.")]
Names = Annotated[list[str] | None, typer.Argument(help="Releases, as given to `up`; default: all.")]
Wanted = Annotated[list[str] | None, typer.Argument(help="Default: those that the tests use.")]
Setting = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of all brokers.")]


def _place(release: str) -> Path:
    return cache() / "clusters" / release


def _clusters(names: list[str] | None) -> list[RealCluster]:
    known = sorted(path.name for path in (cache() / "clusters").glob("*") if (path / "cluster.json").exists())
    return [load(_place(name)) for name in names or known]


def _fail(error: object) -> typer.Exit:
    typer.echo(error, err=True)
    return typer.Exit(1)


@app.command()
def fetch(releases: Wanted = None) -> None:
    """Fetch the artifacts of releases with Maven, and print where they are."""
    for release in releases or RELEASES:
        try:
            typer.echo(jars(release))
        except UnavailableError as error:
            raise _fail(error) from None


@app.command("up")
def bring_up(
    release: Release,
    brokers: Annotated[int, typer.Option(min=1, max=8, help="Masters.")] = 1,
    slave: Annotated[bool, typer.Option("--slave", help="A slave for each master.")] = False,
    proxy: Annotated[bool, typer.Option("--proxy", help="A proxy for gRPC and remoting clients (5.x).")] = False,
    controller: Annotated[bool, typer.Option("--controller", help="Two replicas that elect a master (5.x).")] = False,
    settings: Setting = None,
) -> None:
    """Bring a cluster up and print the address of its name server."""
    place = _place(release)
    if (place / "cluster.json").exists() and any(member.process() for member in load(place).members):
        raise _fail(f"a cluster of {release} is up already; python -m tests.real down {release} ends it")
    shutil.rmtree(place, ignore_errors=True)
    pairs = [item.partition("=") for item in settings or ()]
    try:
        plan = Plan(
            release=release,
            brokers=brokers,
            slave=slave,
            proxy=proxy,
            controller=controller,
            settings={name: value for name, _, value in pairs},
        )
        cluster = up(plan, place)
    except (UnavailableError, NotUpError, ValueError) as error:
        raise _fail(error) from None
    typer.echo(cluster.namesrv)
    if cluster.proxy_grpc:
        typer.echo(f"proxy: gRPC {cluster.proxy_grpc}, remoting {cluster.proxy_remoting}")


@app.command()
def status(names: Names = None) -> None:
    """List the processes of clusters that were brought up."""
    for cluster in _clusters(names):
        typer.echo(f"{cluster.release}: {cluster.namesrv} ({cluster.directory})")
        for member in cluster.members:
            state = f"pid {member.pid}" if member.process() else "ended"
            typer.echo(f"  {member.name:<12} {member.address:<16} {state}")


@app.command()
def down(names: Names = None) -> None:
    """End clusters. Their stores and logs stay until the release is brought up again."""
    for cluster in _clusters(names):
        cluster.down()


if __name__ == "__main__":
    sys.exit(app())
