"""`mqctl cluster describe`: one cluster with its name servers, brokers and totals."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, tell_broker_gaps, tell_gaps
from mqctl.cli.options import NoColorOption, OutputOption
from mqctl.errors import NotFoundError, UsageError
from mqctl.render.cluster_description import cluster_description, description_document
from mqctl.snapshot.live_asking import Scope
from mqctl.snapshot.live_brokers import ask_groups, ask_runtime, ask_topics, list_brokers, masters_of
from mqctl.snapshot.live_gatherer import ask_name_servers

EXAMPLES = ("mqctl cluster describe", "mqctl cluster describe DefaultCluster -o json | jq .name_servers")


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[CLUSTER]", help="Which cluster; not needed where there is one.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show one cluster: name servers and where they differ, brokers, rates, and how many topics and groups it has."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        servers, addresses, gaps = ask_name_servers(asking)
        which = _which(name or chosen.cluster, sorted({item.cluster for item in addresses}))
        brokers = list_brokers(asking, tuple(item for item in addresses if item.cluster == which), Scope())
        ask_runtime(asking, brokers)
        ask_topics(asking, masters_of(brokers))
        ask_groups(asking, masters_of(brokers), Scope())
    emit(description_document(cluster_description(which, brokers, servers, gaps)), output)
    return max(tell_gaps(gaps), tell_broker_gaps(brokers))


def _which(name: str | None, known: list[str]) -> str:
    if name is None and len(known) == 1:
        return known[0]
    if not known:
        raise NotFoundError("there is no cluster", reason="no broker has registered with these name servers")
    if name is None:
        raise UsageError(
            "several clusters are there", reason=", ".join(known), remedy=f"mqctl cluster describe {known[0]}"
        )
    if name not in known:
        raise NotFoundError(
            f"there is no cluster {name}", reason=f"known: {', '.join(known)}", remedy="mqctl cluster list"
        )
    return name
