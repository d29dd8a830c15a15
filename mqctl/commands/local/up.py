"""`mqctl local up`: start a RocketMQ cluster on this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import cluster_target
from mqctl.cli.emit import Output, emit, note, tell
from mqctl.cli.options.common import LocalNameOption, NoColorOption, OutputOption
from mqctl.cli.places import state_dir
from mqctl.commands.local.gather import local_row
from mqctl.commands.local.view import local_document
from mqctl.errors import MqctlError, UsageError
from mqctl.local.state import DEFAULT_NAME
from mqctl.local.supervisor import LocalClusterOptions, Supervisor, TlsOptions
from mqctl.model.command_line import command_line, shell_word
from mqctl.text import sentence


class LocalTlsMode(StrEnum):
    """The names of a real broker's `tls.server.mode`."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class LocalClientAuth(StrEnum):
    """The names of a real broker's `tls.server.need.client.auth`."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


EXAMPLES = (
    "mqctl local up",
    "mqctl local up --memory --brokers 2",
    "mqctl local up --brokers 2 --slaves 1",
    "mqctl local up --grpc",
    "mqctl local up --acl plain_acl.yml",
    "mqctl local up --rooms HT,CP --brokers HT-broker-a,CP-broker-a",
    "mqctl local up -o json | jq -r '.clusters[0].namesrv'",
)


_Brokers = Annotated[
    str | None, typer.Option("--brokers", metavar="N|NAMES", help="How many brokers, or their names with commas.")
]
_Slaves = Annotated[
    int, typer.Option("--slaves", metavar="N", min=0, max=9, help="Slaves of each broker: broker-a-s, broker-a-s2 ...")
]
_Rooms = Annotated[
    str | None,
    typer.Option(
        "--rooms", metavar="NAMES", help="Machine rooms, separated by commas; each broker name starts with one."
    ),
]
_Memory = Annotated[bool, typer.Option("--memory", help="Throw the stores away at the end.")]
_DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Keep the stores here instead of mqctl's own place."),
]
_AsVersion = Annotated[
    str | None, typer.Option("--as-version", metavar="RELEASE", help="Behave like 4.9.8 (default) or 5.3.3.")
]
_TimeScale = Annotated[
    float | None, typer.Option("--time-scale", metavar="X", help="Let the cluster's clock run X times as fast.")
]
_NamesrvPort = Annotated[
    int | None,
    typer.Option(
        "--namesrv-port", metavar="PORT", min=0, max=65_535, help="Port of the first name server. Default: any."
    ),
]
_BrokerPort = Annotated[
    int | None,
    typer.Option("--broker-port", metavar="PORT", min=0, max=65_535, help="Port of the first broker. Default: any."),
]
_Grpc = Annotated[
    bool, typer.Option("--grpc", help="Serve gRPC clients, too; behaves like 5.3.3. Needs the extra mqctl[grpc].")
]
_GrpcPort = Annotated[
    int | None,
    typer.Option("--grpc-port", metavar="PORT", min=0, max=65_535, help="Port of the gRPC endpoint. Default: any."),
]
_AsReal = Annotated[
    bool, typer.Option("--as-real", help="Answer before messages can be read, and out of order, as real brokers do.")
]
_Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A property of every broker; repeatable.")
]
_Acl = Annotated[
    Path | None,
    typer.Option(
        "--acl",
        metavar="FILE",
        help="Control access by this list, a plain_acl.yml of 4.9; it is read again when it changes.",
    ),
]
_TlsMode = Annotated[
    LocalTlsMode, typer.Option("--tls-mode", help="Which connections to take, where there is a certificate.")
]
_TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of name servers and brokers (PEM).")
]
_TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key (PEM, unencrypted).")]
_TlsClientAuth = Annotated[
    LocalClientAuth, typer.Option("--tls-client-auth", help="Whether clients show certificates.")
]
_TlsTrust = Annotated[
    Path | None, typer.Option("--tls-trust", metavar="FILE", help="Authority that signs those (PEM).")
]
_Control = Annotated[
    bool,
    typer.Option("--control/--no-control", help="Open the control socket, for `local stop`, faults and time."),
]


def command(
    name: LocalNameOption = DEFAULT_NAME,
    brokers: _Brokers = None,
    slaves: _Slaves = 0,
    rooms: _Rooms = None,
    memory: _Memory = False,
    data_dir: _DataDir = None,
    as_version: _AsVersion = None,
    time_scale: _TimeScale = None,
    namesrv_port: _NamesrvPort = None,
    broker_port: _BrokerPort = None,
    grpc: _Grpc = False,
    grpc_port: _GrpcPort = None,
    as_real: _AsReal = False,
    settings: _Settings = None,
    acl: _Acl = None,
    tls_mode: _TlsMode = LocalTlsMode.PERMISSIVE,
    tls_cert: _TlsCert = None,
    tls_key: _TlsKey = None,
    tls_client_auth: _TlsClientAuth = LocalClientAuth.NONE,
    tls_trust: _TlsTrust = None,
    control: _Control = True,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Start a RocketMQ cluster on this machine: a name server and brokers in one background process.

    Real RocketMQ clients work against it. Commands without --namesrv and profile find it automatically.
    """
    if memory and data_dir is not None:
        raise UsageError(sentence("local-memory-data-dir-cannot", "--memory and --data-dir cannot be combined"))
    places = state_dir() / "local"
    options = LocalClusterOptions(
        brokers=brokers,
        slaves=slaves,
        rooms=rooms,
        memory=memory,
        data_dir=(data_dir or places / name / "stores").absolute(),
        as_version=as_version,
        time_scale=time_scale,
        namesrv_port=namesrv_port,
        broker_port=broker_port,
        grpc=grpc or grpc_port is not None,
        grpc_port=grpc_port,
        as_real=as_real,
        settings=tuple(settings or ()),
        control=control,
        acl_file=acl.absolute() if acl is not None else None,
        tls=_tls(tls_mode, tls_cert, tls_key, tls_client_auth, tls_trust),
    )
    state = Supervisor(places, say=note).up(name, options)
    emit(local_document([local_row(state)]), output)
    tell(
        sentence(
            "local-name-server-stop",
            "mqctl: name server {namesrv}; stop it with: {value}",
            namesrv=state.ready.namesrv,
            value=command_line("mqctl local down {}", _named(name)),
        )
    )
    if state.ready.ignored:
        tell(
            sentence(
                "properties-without-effect",
                "mqctl: without effect here, as unknown or of another kind: {names}",
                names=state.ready.ignored,
            )
        )
    if state.ready.grpc is not None:
        tell(sentence("local-grpc-clients-find", "mqctl: gRPC clients find it at {grpc}", grpc=state.ready.grpc))
    _tell_where_commands_go(state.ready.namesrv)


def _tell_where_commands_go(here: str) -> None:
    """Warns whoever starts a cluster to try things on while other settings lead commands to another one."""
    hint = sentence(
        "local-export-namesrv-leads-here",
        "export MQCTL_NAMESRV={here} leads them here, or --namesrv with each",
        here=shell_word(here),
    )
    try:
        target = cluster_target(None, None, None)
    except MqctlError as error:
        tell(
            sentence(
                "local-commands-not-find-themselves",
                "mqctl: commands do not find it automatically: {error}\n  next: {hint}",
                error=error,
                hint=hint,
            )
        )
        return
    if target.namesrv != here:
        tell(
            sentence(
                "local-commands-still-go-next",
                "mqctl: commands still go to {source} ({namesrv})\n  next: {hint}",
                source=target.source,
                namesrv=target.namesrv,
                hint=hint,
            )
        )


def _tls(
    mode: LocalTlsMode, cert: Path | None, key: Path | None, client_auth: LocalClientAuth, trust: Path | None
) -> TlsOptions | None:
    if cert is None or key is None:
        if cert is not None or key is not None or mode is LocalTlsMode.ENFORCING:
            raise UsageError(
                sentence("local-tls-needs-certificate-key", "TLS needs a certificate and its key"),
                remedy=sentence("local-add-tls-cert-file", "add --tls-cert FILE --tls-key FILE"),
            )
        return None
    return TlsOptions(
        mode=mode,
        cert=cert.absolute(),
        key=key.absolute(),
        client_auth=client_auth,
        trust=trust.absolute() if trust is not None else None,
    )


def _named(name: str) -> list[str]:
    return [] if name == DEFAULT_NAME else ["--name", name]
