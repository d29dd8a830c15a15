"""`mqctl cluster describe`: one cluster with its brokers and totals, or the properties of name servers."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from mqctl.cli.connection.target import ClusterTarget, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import asking_of, broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.client.admin.nameserver import name_server_settings
from mqctl.commands.cluster.describe_view import cluster_description, description_document
from mqctl.commands.cluster.view import NameServerSetting, name_server_settings_document
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import GapSubject, Part
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups, ask_runtime, ask_topics, masters_of
from mqctl.text import sentence

_PARTS = frozenset({Part.RUNTIME, Part.TOPICS, Part.GROUPS})
EXAMPLES = (
    "mqctl cluster describe",
    "mqctl cluster describe DefaultCluster -o json | jq .name_servers",
    "mqctl cluster describe --config --diff",
    "mqctl cluster describe --config --key 'order*' -o json",
)


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[CLUSTER]", help="Which cluster; not needed where there is one.")
    ] = None,
    config: Annotated[bool, typer.Option("--config", help="The properties of every name server instead.")] = False,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="PATTERN", help="Only these properties; * and ? stand for others."),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Only properties in which name servers differ.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show one cluster: name servers and their differences, brokers, rates, and the number of topics and groups.

    --config, --key and --diff show properties of name servers, whose addresses, ports and paths always differ.
    """
    if config or key or diff:
        if name or snapshot:
            raise UsageError(
                sentence("cluster-config-live", "--config is asked of live name servers, which serve every cluster"),
                remedy=sentence("cluster-config-without", "leave out CLUSTER and --snapshot"),
            )
        return _show_config(cluster_target(namesrv, profile, timeout), key or (), output, differing=diff)
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


def _show_config(target: ClusterTarget, patterns: Sequence[str], output: Output, *, differing: bool) -> int:
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        addresses = cluster.name_servers.addresses(asking.deadline)
        answers = asking.put((address, address, name_server_settings()) for address in addresses)
    by_server = answers.values.values()
    rows = [
        NameServerSetting(name_server=address, key=name, value=answers.values[address][name])
        for name in sorted({name for settings in by_server for name in settings})
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
        if not differing or len({settings.get(name) for settings in by_server}) > 1
        for address in addresses
        if name in answers.values.get(address, {})
    ]
    gaps = answers.gaps(Part.CONFIG, {address: GapSubject(address=address) for address in addresses})
    return answer(name_server_settings_document(rows), gaps, output)


def _which(name: str | None, known: list[str]) -> str:
    if name is None and len(known) == 1:
        return known[0]
    if name is None and known:
        raise UsageError(
            sentence("several-clusters", "several clusters exist"),
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
