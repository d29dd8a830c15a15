"""`mqctl broker reach`: which ports of a cluster answer from here, and who answers there."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of, open_brokers
from mqctl.commands.broker.reach_view import reach_document
from mqctl.errors import DeadlineError, ExitCode, NotFoundError, UnreachableError
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings
from mqctl.snapshot.live.reach import HA, NEEDED, VIP, try_ports
from mqctl.text import composed, sentence

EXAMPLES = (
    "mqctl broker reach",
    "mqctl broker reach broker-a --namesrv 10.0.0.1:9876",
    "mqctl broker reach --proxy 10.0.0.5 -o json",
)
_PORT_TIMEOUT_MS = 3_000
_NOTES = {
    VIP: sentence(
        "reach-closed-vip", "a closed VIP port (listenPort - 2) matters only to clients with vipChannelEnabled=true"
    ),
    HA: sentence("reach-closed-ha", "a closed HA port matters only to slaves: look from their machines"),
}


def command(
    broker: Annotated[
        list[str] | None, typer.Argument(metavar="[BROKER]...", help="Names or addresses; all brokers unless given.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    proxy: ProxyOption = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(
            "--grpc-port",
            metavar="PORT",
            min=1,
            max=65535,
            help="gRPC port of the proxies; remoting port + 1 unless given.",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Try the ports of name servers, brokers and proxies from here: TCP, then who answers, each with its time.

    The answer says whether a port is closed, silent (a firewall), half-open or slow, or speaks HTTP or TLS only. The HA
    port is connected to, and nothing is sent. Ends with 69 when a port that clients need does
    not answer; the VIP and HA ports are only shown.
    """
    target = cluster_target(namesrv, profile, timeout, proxies=proxy)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        servers = cluster.name_servers.addresses(asking.deadline)
        brokers: list[LiveBroker] = []
        try:
            brokers = open_brokers(asking, broker or (), anywhere=True)
            ask_settings(asking, brokers)
        except (UnreachableError, DeadlineError, NotFoundError) as error:
            if broker and isinstance(error, NotFoundError):
                raise
            tell(composed("mqctl: {error}", error=error))
    limit_ms = max(1, min(_PORT_TIMEOUT_MS, target.timeout_ms // 3))
    ports = try_ports(servers, brokers, target.proxies, grpc_port=grpc_port, timeout_ms=limit_ms, links=target.links())
    emit(reach_document(ports), output)
    shut = {port.role for port in ports if not port.reached.state.open}
    for role in sorted(shut - NEEDED):
        tell(f"mqctl: {_NOTES[role]}")
    return ExitCode.UNREACHABLE if shut & NEEDED or not brokers else ExitCode.OK
