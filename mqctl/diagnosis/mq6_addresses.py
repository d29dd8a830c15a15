"""MQ62x: brokers registered under addresses that cannot be right, and clients that look elsewhere than brokers are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mqctl.diagnosis.audience import APPLICATION, ONLINE
from mqctl.diagnosis.group_view import named_clients
from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Cause, Part
from mqctl.model.numbers import decimal
from mqctl.model.route import MASTER_ID

_ROUTES = (Part.ROUTES,)
_NO_ANSWER = (Cause.SILENT, Cause.TIMED_OUT)
_LITERAL = re.compile(r"\d{1,3}(\.\d{1,3}){3}:\d{1,5}")
_MOST_PORT = 65_535


def _broker(name: str | None) -> Subject:
    return Subject(kind=SubjectKind.BROKER, broker=name)


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _is_loopback(host: str) -> bool:
    return host.startswith("127.") or host in ("localhost", "::1")


def _is_malformed(address: str) -> bool:
    host, _, port = address.rpartition(":")
    number = decimal(port)
    return not re.fullmatch(r"[^\s#,;/@]+", host) or number is None or not 0 < number <= _MOST_PORT


def _registered(case: ClusterCase) -> dict[tuple[str, int], set[str]]:
    """Returns the addresses that name servers tell, by broker name and id."""
    names: dict[tuple[str, int], set[str]] = {}
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            for broker_id, address in endpoint.addresses.items():
                names.setdefault((endpoint.name, broker_id), set()).add(address)
    return names


@cluster_rule("MQ620", Severity.ERROR, source="RouteInfoManager.registerBroker", needs=_ROUTES, playbook="broker-down")
def nobody_answers(case: ClusterCase) -> Iterator[Verdict]:
    """A broker that is registered, and at whose address nobody answers, or somebody who speaks something else.

    A time-out fits a broker that hangs, a firewall that drops packets, and a look that waited too briefly.
    """
    for broker in case.snapshot.brokers:
        gap = broker.lacks(Part.RUNTIME)
        if gap is not None and gap.cause in _NO_ANSWER and not _is_malformed(broker.address or ""):
            timed_out = gap.cause is Cause.TIMED_OUT
            yield Verdict(
                subject=_broker(broker.name),
                params={"broker": broker.name, "address": broker.address, "reason": gap.reason},
                evidence={"broker_id": broker.broker_id},
                severity=None if broker.broker_id == MASTER_ID else Severity.WARNING,
                confidence=Confidence.MEDIUM if timed_out else Confidence.HIGH,
                variant="silent" if timed_out else None,
            )


@cluster_rule("MQ621", Severity.ERROR, source="BrokerConfig.brokerIP1", needs=_ROUTES, playbook="broker-down")
def impossible_address(case: ClusterCase) -> Iterator[Verdict]:
    """An address that clients on other machines cannot use: none at all, any address, or the broker's own loopback."""
    servers = [_host(view.address) for view in case.snapshot.name_servers]
    from_elsewhere = any(not _is_loopback(host) for host in servers)
    for (name, broker_id), addresses in sorted(_registered(case).items()):
        for address in sorted(addresses):
            host = _host(address)
            variant = None
            if _is_malformed(address):
                variant = "malformed"
            elif host in ("0.0.0.0", "::"):
                variant = "wildcard"
            elif _is_loopback(host) and from_elsewhere:
                variant = "loopback"
            if variant is not None:
                yield Verdict(
                    subject=_broker(name),
                    params={"broker": name, "address": address},
                    evidence={"broker_id": broker_id},
                    variant=variant,
                )


@cluster_rule(
    "MQ622", Severity.ERROR, source="RouteInfoManager.registerBroker", needs=_ROUTES, playbook="cluster-mixup"
)
def one_name_for_two(case: ClusterCase) -> Iterator[Verdict]:
    """Two brokers under one name: of two clusters on the same name servers, or another one than is registered there."""
    clusters: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            clusters.setdefault(endpoint.name, set()).update({endpoint.cluster, *endpoint.also_in})
    for (name, _), addresses in _registered(case).items():
        for address in addresses:
            names.setdefault(address, set()).add(name)
    shared = {name for name, clusters_of_name in clusters.items() if len(clusters_of_name) > 1}
    for name in sorted(shared):
        yield Verdict(
            subject=_broker(name),
            params={"broker": name, "clusters": ", ".join(sorted(clusters[name]))},
            evidence={"cluster_count": len(clusters[name])},
        )
    for broker in case.snapshot.brokers:
        own = broker.config.get("brokerName"), broker.config.get("brokerClusterName")
        differs = any(value and value != seen for value, seen in zip(own, (broker.name, broker.cluster), strict=True))
        if differs and broker.name not in shared and len(names.get(broker.address or "", ())) < 2:
            yield Verdict(
                subject=_broker(broker.name),
                params={
                    "broker": broker.name,
                    "cluster": broker.cluster,
                    "address": broker.address,
                    "own_name": own[0],
                    "own_cluster": own[1],
                },
                evidence={"broker_id": broker.broker_id},
                variant="other",
            )


@cluster_rule(
    "MQ623",
    Severity.WARNING,
    source="BrokerController.getBrokerAddr",
    needs=(Part.ROUTES, Part.CONFIG),
    playbook="broker-down",
)
def not_its_own_address(case: ClusterCase) -> Iterator[Verdict]:
    """A broker that is registered under another address than its own brokerIP1 and listenPort."""
    for broker in case.snapshot.brokers:
        host, port = broker.config.get("brokerIP1"), broker.config.get("listenPort")
        own = f"{host}:{port}"
        if host and port and broker.address and own != broker.address and not _is_malformed(broker.address):
            yield Verdict(
                subject=_broker(broker.name),
                params={"broker": broker.name, "address": broker.address, "own_address": own},
                evidence={"broker_id": broker.broker_id},
                confidence=Confidence.MEDIUM,
            )


@cluster_rule(
    "MQ624",
    Severity.ERROR,
    source="MQClientAPIImpl.updateNameServerAddressList",
    needs=(Part.MEMBERS, Part.RUNNING_INFO, Part.CONFIG),
    playbook="cluster-mixup",
    groups=ONLINE,
)
def other_name_servers(case: ClusterCase) -> Iterator[Verdict]:
    """Members that ask name servers with which no broker of this cluster registers."""
    lists = [_servers(broker.config.get("namesrvAddr")) for broker in case.snapshot.brokers]
    known = {address for listed in lists for address in listed}
    if not known or not all(map(_LITERAL.fullmatch, known)):
        return
    known |= {view.address for view in case.snapshot.name_servers if view.endpoints}
    for view in case.views:
        lost: dict[str, list[str]] = {}
        for client, info in view.running.items():
            servers = _servers(info.properties.get("PROP_NAMESERVER_ADDR"))
            if servers and all(map(_LITERAL.fullmatch, servers)) and known.isdisjoint(servers):
                lost.setdefault(";".join(sorted(servers)), []).append(client)
        for asked_list, clients in sorted(lost.items()):
            yield Verdict(
                subject=view.subject,
                params={
                    "group": view.group,
                    "clients": named_clients(clients),
                    "asked": asked_list,
                    "registered": ";".join(sorted(known)),
                },
                evidence={"lost_count": len(clients), "member_count": len(view.client_ids)},
            )


def _servers(text: str | None) -> set[str]:
    return {part.strip() for part in re.split("[;,]", text or "") if part.strip()}


@cluster_rule(
    "MQ625",
    Severity.WARNING,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS, Part.TOPICS),
    playbook="cluster-mixup",
    groups=ONLINE,
    topics=APPLICATION,
)
def topic_is_elsewhere(case: ClusterCase) -> Iterator[Verdict]:
    """Members that subscribe a topic that no broker of this cluster has: a wrong name, or the wrong cluster."""
    masters = [broker for broker in case.snapshot.brokers if broker.broker_id in (None, MASTER_ID)]
    if not masters or any(broker.lacks(Part.TOPICS) for broker in masters):
        return
    known = {config.name for broker in masters for config in broker.topics} | case.routes.keys()
    for view in case.views:
        for topic in view.topics():
            if topic not in known:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic},
                    evidence={"member_count": len(view.client_ids)},
                )


@cluster_rule(
    "MQ626",
    Severity.WARNING,
    source="NettyRemotingClient.getAndCreateNameserverChannel",
    playbook="broker-down",
)
def silent_name_server(case: ClusterCase) -> Iterator[Verdict]:
    """A name server of the list that does not answer while others do."""
    for gap in case.snapshot.unavailable:
        whole = gap.subject is not None and gap.subject.address is not None and gap.topic is None
        if gap.part is Part.ROUTES and whole and gap.cause in _NO_ANSWER:
            yield Verdict(
                subject=Subject(kind=SubjectKind.CLUSTER),
                params={"address": gap.subject.address if gap.subject else None, "reason": gap.reason},
                evidence={"answering_count": len(case.snapshot.name_servers)},
            )


@cluster_rule(
    "MQ627",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="broker-down",
    topics=APPLICATION,
)
def route_without_topic(case: ClusterCase) -> Iterator[Verdict]:
    """A route that leads to a broker which does not have the topic: deleted there, and not at the name servers."""
    own = {
        broker.name: {config.name for config in broker.topics}
        for broker in case.snapshot.brokers
        if broker.broker_id in (None, MASTER_ID) and broker.lacks(Part.TOPICS) is None
    }
    for route in case.user_routes:
        names = {queues.broker_name for queues in route.queues}
        missing = sorted(name for name in names & own.keys() if route.topic not in own[name])
        if missing:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
                params={"topic": route.topic, "brokers": ", ".join(missing)},
                evidence={"missing_count": len(missing), "broker_count": len(names)},
            )
