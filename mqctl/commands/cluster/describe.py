"""`mqctl cluster describe`: one cluster with its name servers, brokers and totals."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.cluster.describe_view import cluster_description, description_document
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Part
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups, ask_runtime, ask_topics, masters_of
from mqctl.text import sentence

_PARTS = frozenset({Part.RUNTIME, Part.TOPICS, Part.GROUPS})
EXAMPLES = ("mqctl cluster describe", "mqctl cluster describe DefaultCluster -o json | jq .name_servers")


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[CLUSTER]", help="Which cluster; not needed where there is one.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show one cluster: name servers and where they differ, brokers, rates, and how many topics and groups it has."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        servers, addresses, server_gaps = look.name_servers()
        which = _which(name or look.cluster, sorted({item.cluster for item in addresses}))
        brokers = look.brokers_at(tuple(item for item in addresses if item.cluster == which), _PARTS)
        look.ask(ask_runtime, brokers)
        look.ask(ask_topics, masters_of(brokers))
        look.ask(ask_groups, masters_of(brokers), Scope())
        modes = look.declared_modes(masters_of(brokers))
        missing = [item for item in look.missing(addresses) if item.cluster in (which, "")]
    gaps = [*server_gaps, *broker_gaps(brokers)]
    description = cluster_description(which, brokers, servers, server_gaps, modes, missing=missing)
    return answer(description_document(description), gaps, output)


def _which(name: str | None, known: list[str]) -> str:
    if name is None and len(known) == 1:
        return known[0]
    if name is None and known:
        raise UsageError(
            sentence("several-clusters", "several clusters are there"),
            reason=", ".join(known),
            remedy=command_line("mqctl cluster describe {}", known[0]),
        )
    if name not in known:
        raise NotFoundError(
            sentence(
                "no-cluster", "there is no cluster {name}", name=name or sentence("cluster-none-at-all", "at all")
            ),
            reason=sentence("common-known", "known: {known}", known=known),
            remedy=command_line("mqctl cluster list"),
        )
    return name
