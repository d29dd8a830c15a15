"""`mqctl cluster list`: the clusters that the name servers know."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.cluster.view import cluster_document
from mqctl.model.gap import Part
from mqctl.render.brokers import broker_rows
from mqctl.snapshot.live.brokers import ask_runtime

EXAMPLES = ("mqctl cluster list", "mqctl cluster list -o json | jq .differing")


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the clusters with their brokers and rates. Asks every name server and names those that disagree."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        servers, addresses, server_gaps = look.name_servers()
        brokers = look.brokers_at(addresses, {Part.RUNTIME})
        look.ask(ask_runtime, brokers)
        look.missing(addresses)
    first = next(iter(servers.values()), ())
    differing = [address for address, endpoints in servers.items() if endpoints != first]
    gaps = [*server_gaps, *broker_gaps(brokers)]
    rows = broker_rows(brokers)
    return answer(cluster_document(rows, list(servers), differing), gaps, output)
