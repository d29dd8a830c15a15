"""`mqctl cluster list`: the clusters that the name servers know."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, tell_broker_gaps, tell_gaps
from mqctl.cli.options import NoColorOption, OutputOption
from mqctl.render.brokers import broker_row
from mqctl.render.clusters import cluster_document
from mqctl.snapshot.live_asking import Scope
from mqctl.snapshot.live_brokers import ask_runtime, list_brokers
from mqctl.snapshot.live_gatherer import ask_name_servers

EXAMPLES = ("mqctl cluster list", "mqctl cluster list -o json | jq .differing")


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the clusters with their brokers and rates. Every name server is asked; those that differ are named."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        servers, addresses, gaps = ask_name_servers(asking)
        brokers = list_brokers(asking, addresses, Scope())
        ask_runtime(asking, brokers)
    first = next(iter(servers.values()), ())
    differing = [address for address, endpoints in servers.items() if endpoints != first]
    emit(cluster_document([broker_row(broker) for broker in brokers], list(servers), differing), output)
    return max(tell_gaps(gaps), tell_broker_gaps(brokers))
