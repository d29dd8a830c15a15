"""`python -m tests.real`: real clusters by hand.

python -m tests.real up 5.5.0 --slave    prints the address of the name server
python -m tests.real status
python -m tests.real down
python -m tests.real compare             reports what releases do differently from the embedded broker
python -m tests.real record 5.5.0        renews tests/golden/recorded/5.5.0
python -m tests.real judge 5.5.0 --rate 100 --minutes 10   looks for false alarms on a cluster in motion
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from tests.cached import UnavailableError, cache
from tests.conftest import RECORDED, whole_processes
from tests.real.artifacts import RELEASES, jars
from tests.real.cluster import Plan, RealCluster, load, running, up
from tests.real.conftest import turn
from tests.real.differences import as_markdown, compared
from tests.real.members import NotUpError
from tests.real.moving import Looker, in_motion, judge
from tests.real.recording import record

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


@app.command()
def compare(
    releases: Wanted = None,
    write: Annotated[Path | None, typer.Option(help="A file for the report, beside printing it.")] = None,
) -> None:
    """Report what brokers of releases do differently from the embedded one; 1 when anything of it is not known yet."""
    comparisons = []
    for release in releases or RELEASES:
        with TemporaryDirectory() as scratch:
            try:
                with turn(), running(Plan(release=release), Path(scratch)) as cluster:
                    comparisons.append(compared(cluster, Path(scratch) / "report.xml"))
            except (UnavailableError, NotUpError) as error:
                raise _fail(error) from None
    report = as_markdown(comparisons)
    typer.echo(report, nl=False)
    if write is not None:
        write.write_text(report)
    if any(each.unexpected for each in comparisons):
        raise typer.Exit(1)


@app.command("record")
def record_release(releases: Annotated[list[str], typer.Argument(help="Releases.")]) -> None:
    """Record what brokers of releases write, as tests/golden/recorded/RELEASE."""
    for release in releases:
        try:
            with turn():
                record(release, RECORDED / release)
        except (UnavailableError, NotUpError) as error:
            raise _fail(error) from None
        typer.echo(RECORDED / release)


@app.command("judge")
def judge_release(
    release: Release,
    rate: Annotated[int, typer.Option(min=0, help="Messages a second.")] = 100,
    minutes: Annotated[float, typer.Option(help="How long to look.")] = 10,
    proxy: Annotated[bool, typer.Option("--proxy", help="With a proxy and a consumer behind it (5.x).")] = False,
) -> None:
    """Look for false alarms on a healthy master and slave in motion; 1 where there are any."""
    with TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        home.mkdir()
        try:
            plan = Plan(release=release, slave=True, proxy=proxy)
            with turn(), running(plan, Path(scratch)) as cluster:
                looker = Looker(cluster, whole_processes(home))
                with in_motion(looker, rate) as traffics:
                    report = judge(looker, traffics, minutes * 60, typer.echo)
        except (UnavailableError, NotUpError, ValueError) as error:
            raise _fail(error) from None
    typer.echo(f"{plan}, {rate}/s: {report}")
    if report.alarms:
        raise typer.Exit(1)


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
