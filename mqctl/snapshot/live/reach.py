"""Which ports a cluster has, and whether they can be reached from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mqctl.client.remoting.link import LinkSettings, split_address
from mqctl.client.remoting.reach import Port, PortQuestion, Speech, reach_ports
from mqctl.model.numbers import decimal
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from mqctl.snapshot.live.brokers import LiveBroker

NAME_SERVER, LISTEN, VIP, HA, PROXY, PROXY_GRPC = "name server", "broker", "VIP", "HA", "proxy", "proxy gRPC"
NEEDED = frozenset({NAME_SERVER, LISTEN, PROXY, PROXY_GRPC})
"""Ports without which clients cannot work; the VIP port is for clients that ask for it, HA for slaves."""
# MixAll.brokerVIPChannel; DefaultHAService; ProxyConfig.
VIP_BELOW, _HA_ABOVE, _GRPC_ABOVE = 2, 1, 1


_Asked = tuple[str, str | None, int | None, PortQuestion]


def try_ports(
    name_servers: Iterable[str],
    brokers: Sequence[LiveBroker],
    proxies: Iterable[str],
    *,
    grpc_port: int | None = None,
    timeout_ms: int,
    links: LinkSettings,
) -> list[Port]:
    """Tries every port of name servers, broker processes and proxies.

    Args:
        brokers: with their settings, where they told them.
        proxies: addresses of their remoting ports.
        grpc_port: of every proxy; the one above its remoting port unless given.
    """
    questions = [
        *(_asked(NAME_SERVER, address, GetBrokerClusterInfo()) for address in name_servers),
        *(item for broker in brokers for item in _broker_ports(broker)),
        *(item for proxy in proxies for item in _proxy_ports(proxy, grpc_port)),
    ]
    ports = reach_ports([question for _, _, _, question in questions], timeout_ms=timeout_ms, links=links)
    return [
        Port(role, name, broker_id, question.address, reached)
        for (role, name, broker_id, question), reached in zip(questions, ports, strict=True)
    ]


def _asked(role: str, address: str, request: GetBrokerClusterInfo | GetBrokerRuntimeInfo) -> _Asked:
    return role, None, None, PortQuestion(address, Speech.REMOTING, request)


def _broker_ports(broker: LiveBroker) -> Iterator[_Asked]:
    process = broker.address
    host, _, text = process.address.rpartition(":")
    names = (broker.name, process.broker_id)
    yield LISTEN, *names, PortQuestion(process.address, Speech.REMOTING, GetBrokerRuntimeInfo())
    port = decimal(text)
    if port is None or port <= VIP_BELOW:
        return
    vip = f"{host}:{port - VIP_BELOW}"
    yield VIP, *names, PortQuestion(vip, Speech.REMOTING, GetBrokerRuntimeInfo())
    if process.is_master:
        ha_port = decimal(broker.config.get("haListenPort", "")) or port + _HA_ABOVE
        yield HA, *names, PortQuestion(f"{broker.config.get('brokerIP2') or host}:{ha_port}", Speech.NOTHING)


def _proxy_ports(address: str, grpc_port: int | None) -> Iterator[_Asked]:
    host, port = split_address(address)
    yield _asked(PROXY, address, GetBrokerClusterInfo())
    grpc = grpc_port or port + _GRPC_ABOVE
    yield PROXY_GRPC, None, None, PortQuestion(f"{host}:{grpc}", Speech.GRPC)
