"""The command line of `python -m embedded_broker`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from embedded_broker.cluster import ClusterSpec
from embedded_broker.consumers.locks import LOCK_LIVE_MS
from embedded_broker.release import RELEASES
from embedded_broker.remoting.tls import ClientAuth, ServerTls, TlsMode
from embedded_broker.testing.embedded import broker_names
from mqctl.errors import UsageError
from mqctl.model.numbers import MOST_INT64, decimal

_MOST_BROKERS = 1_000
_MOST_SLAVES = 9
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Options:
    """What the process was asked for.

    Attributes:
        control: whether the control socket is opened.
        log_level: name of a level of `logging`.
        until_eof: end when standard input ends, too: that of a process whose starter was killed does.
        until_released: so until a line comes from there; then it stays whatever becomes of its starter.
    """

    spec: ClusterSpec
    control: bool
    log_level: str
    until_eof: bool
    until_released: bool


def parser() -> argparse.ArgumentParser:
    """Returns the parser, for its help."""
    made = argparse.ArgumentParser(
        prog="python -m embedded_broker",
        description="A RocketMQ cluster in one process, in the foreground. Prints one JSON line when it is ready.",
    )
    add = made.add_argument
    add("--brokers", default="", metavar="N|NAMES", help="how many brokers, or their names, comma-separated")
    add("--slaves", type=_slaves, default=0, metavar="N", help="slaves of each broker, NAME-s, NAME-s2 ... (default 0)")
    add("--rooms", default="", metavar="NAMES", help="machine rooms, comma-separated; broker names begin with one")
    add("--isolated-rooms", action="store_true", help="brokers register in their own room only")
    add("--name-servers", type=int, default=1, metavar="N", help="name servers, without rooms (default 1)")
    add("--cluster", default="DefaultCluster", metavar="NAME", help="cluster name (default %(default)s)")
    where = made.add_mutually_exclusive_group()
    where.add_argument("--data-dir", type=Path, metavar="DIR", help="keep the stores here")
    where.add_argument("--memory", action="store_true", help="throw-away stores in memory (the default)")
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--namesrv-port", type=_port, default=0, metavar="PORT", help="port of the first name server (default: any)")
    add("--broker-port", type=_port, default=0, metavar="PORT", help="port of the first broker (default: any)")
    add("--grpc", action="store_true", help="serve gRPC clients, too; behaves like 5.3.3 unless told otherwise")
    add("--grpc-port", type=_port, default=0, metavar="PORT", help="port of the gRPC endpoint (default: any)")
    add("--as-version", choices=list(RELEASES), help="release to behave like (default 4.9.8; with --grpc 5.3.3)")
    add("--time-scale", type=float, default=1.0, metavar="X", help="let the cluster's clock run X times as fast")
    add(
        "--lock-live-ms", type=int, default=LOCK_LIVE_MS, metavar="MS", help="life of queue locks (default %(default)s)"
    )
    add("--virtual-time", action="store_true", help="let time stand still; advance it over the control socket")
    add("--as-real", action="store_true", help="answer before messages can be read, and out of order, as real brokers")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a property of every broker; repeatable")
    add(
        "--acl",
        type=Path,
        metavar="FILE",
        help="access list of all brokers, a plain_acl.yml of 4.9",
    )
    add(
        "--tls-mode",
        default="permissive",
        choices=list(TlsMode),
        help="connections to take (default %(default)s)",
    )
    add("--tls-cert", type=Path, metavar="FILE", help="certificate of name servers and brokers (PEM); switches TLS on")
    add("--tls-key", type=Path, metavar="FILE", help="its key (PEM, unencrypted)")
    add("--tls-client-auth", default="none", choices=list(ClientAuth), help="certificates of clients (default none)")
    add("--tls-trust", type=Path, metavar="FILE", help="authorities that sign the certificates of clients (PEM)")
    add("--control", action="store_true", help="open the control socket (loopback) and announce it in the ready line")
    add("--until-eof", action="store_true", help="end when standard input does, as well as on a signal")
    add("--until-released", action="store_true", help="end when standard input does before a line came from it")
    add("--log-level", default="WARNING", choices=["DEBUG", "INFO", "WARNING", "ERROR"], help="default %(default)s")
    return made


def parse(words: list[str]) -> Options:
    """Reads the command line; argparse ends the process with 2 on words that it does not know.

    Raises:
        UsageError: the words contradict each other.
    """
    given = parser().parse_args(words)
    settings: dict[str, str] = {}
    for item in given.set:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {item} cannot be read", remedy="write --set name=value")
        settings[name] = value
    spec = ClusterSpec(
        brokers=_brokers(given.brokers),
        slaves=given.slaves,
        rooms=_names(given.rooms),
        name_servers=given.name_servers,
        isolated_rooms=given.isolated_rooms,
        cluster=given.cluster,
        data_dir=given.data_dir,
        version=given.as_version or ("5.3.3" if given.grpc or given.grpc_port else "4.9.8"),
        time_scale=given.time_scale,
        lock_live_ms=given.lock_live_ms,
        virtual_time=given.virtual_time,
        host=given.host,
        namesrv_port=given.namesrv_port,
        broker_port=given.broker_port,
        settings={**settings, **({"asReal": "true"} if given.as_real else {})},
        acl_file=given.acl,
        tls=_tls(given),
        grpc_port=given.grpc_port if given.grpc or given.grpc_port else None,
    )
    return Options(
        spec,
        control=given.control,
        log_level=given.log_level,
        until_eof=given.until_eof,
        until_released=given.until_released,
    )


def _port(text: str) -> int:
    number = decimal(text, high=_LAST_PORT)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text} is no port: ports end at {_LAST_PORT}")
    return number


def _slaves(text: str) -> int:
    number = decimal(text, high=_MOST_SLAVES)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text} is no number of slaves: give 0 to {_MOST_SLAVES}")
    return number


def _tls(given: argparse.Namespace) -> ServerTls | None:
    if (given.tls_cert is None) != (given.tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    if given.tls_cert is None:
        if given.tls_mode == TlsMode.ENFORCING:
            raise UsageError("TLS cannot be enforced without a certificate", remedy="add --tls-cert and --tls-key")
        return None
    return ServerTls(
        mode=TlsMode(given.tls_mode),
        cert_path=given.tls_cert,
        key_path=given.tls_key,
        need_client_auth=ClientAuth(given.tls_client_auth),
        trust_cert_path=given.tls_trust,
    )


def _brokers(text: str) -> tuple[str, ...]:
    count = decimal(text, low=-MOST_INT64)
    if count is None:
        return _names(text)
    if count < 1:
        raise UsageError(f"--brokers {text} leaves no broker", remedy="give a number from 1, or names with commas")
    if count > _MOST_BROKERS:
        raise UsageError(f"--brokers {text} is too many for one process", remedy=f"give a number up to {_MOST_BROKERS}")
    return broker_names(count)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
