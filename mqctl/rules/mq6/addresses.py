"""MQ62x: brokers registered under addresses that cannot be right, and clients that look elsewhere than brokers are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mqctl.allocation.group_view import named_clients
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Cause, Part
from mqctl.model.numbers import decimal
from mqctl.model.route import MASTER_ID
from mqctl.rules.engine.audience import APPLICATION, ONLINE
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_BROKERS = "mqctl broker list {source}"

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


@rule(
    "MQ620",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="broker-down",
    texts=RuleTexts(
        title="A registered broker that cannot be reached",
        speaks="a registered broker cannot be reached, or answers nothing in time",
        silent="it answered, and left one question open",
        what={
            "": "{broker} (id {broker_id}) is registered as {address}, and cannot be reached there: {reason}.",
            "silent": "{broker} (id {broker_id}) is registered as {address}, and did not answer in time: {reason}.",
        },
        effect="Clients on the same network as this machine get timeouts from it; nothing on it could be judged.",
        advice="Run `mqctl broker reach` to see which ports answer. A port that accepts connections and answers nothing belongs to "
        "a broker that hangs or is overloaded: look at its process, its log and its disk. A port that does not even accept is "
        "blocked on the way, or nobody is there. An answer that comes with a longer --timeout is a slow one. A broker in a container or behind NAT must register an "
        "address that clients reach: set brokerIP1 (and listenPort). If only this machine cannot reach it, look from another.",
        explain="Name servers hand out the registered address without checking it. Something else may answer there: "
        "an HTTP port, a proxy, a port that requires TLS.",
        next_command=_BROKERS,
        live_command="mqctl broker reach {source} {broker}",
    ),
)
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


@rule(
    "MQ621",
    Severity.ERROR,
    source="BrokerConfig.brokerIP1",
    needs=_ROUTES,
    playbook="broker-down",
    texts=RuleTexts(
        title="An address that no client can use",
        speaks="a broker is registered as 127.0.0.1, and name servers are elsewhere",
        silent="everything runs on one machine",
        what={
            "malformed": "{broker} (id {broker_id}) is registered as '{address}', which is not an address.",
            "wildcard": "{broker} (id {broker_id}) is registered as {address}, which clients cannot connect to.",
            "loopback": "{broker} (id {broker_id}) is registered as {address}: each client looks for it on its own machine.",
        },
        effect="Clients find the broker in their routes and cannot connect to it.",
        advice="Set brokerIP1 to an address that clients reach, without blanks or comments behind it, and restart the broker.",
        explain="A broker takes the address of a network interface when brokerIP1 is not set; in a container that may be the loopback. "
        "Loopback addresses are judged only where a name server is asked at another address.",
        next_command=_BROKERS,
    ),
)
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


@rule(
    "MQ622",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="cluster-mixup",
    texts=RuleTexts(
        title="Two brokers share one name",
        speaks="two clusters register one broker name",
        silent="a slave is registered under its master's name",
        what={
            "": "{broker} belongs to {cluster_count:cluster} on these name servers: {clusters}.",
            "other": "The broker at {address}, registered as {broker} of {cluster}, says it is {own_name} of "
            "{own_cluster}.",
        },
        effect="The brokers overwrite each other's registration: clients reach one or the other by turns, and "
        "messages seem to be lost.",
        advice="Give every broker name to one broker only, or every cluster name servers of its own; restart what was changed.",
        explain="Name servers keep one entry for a broker name, whichever cluster it says it is of: the last registration wins, every "
        "30 s. An address that was given to another machine shows as well: it answers with a name of its own.",
        next_command=_BROKERS,
    ),
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


@rule(
    "MQ623",
    Severity.WARNING,
    source="BrokerController.getBrokerAddr",
    needs=(Part.ROUTES, Part.CONFIG),
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker is registered under another address than its own",
        speaks="a broker's brokerIP1 is not what it is registered as",
        silent="its brokerIP2, which is for replication, is another",
        what={"": "{broker} is registered as {address}; its own settings say {own_address}."},
        effect="Clients go to the registered address; which of the two is right, only the network knows.",
        advice="If brokerIP1 or listenPort was changed, restart the broker; if another process answers at the address, stop it.",
        explain="A broker registers brokerIP1:listenPort as they were when it started.",
        next_command="mqctl broker config {source} {broker}",
    ),
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


@rule(
    "MQ624",
    Severity.ERROR,
    source="MQClientAPIImpl.updateNameServerAddressList",
    needs=(Part.MEMBERS, Part.RUNNING_INFO, Part.CONFIG),
    playbook="cluster-mixup",
    groups=ONLINE,
    texts=RuleTexts(
        title="Members use other name servers than the brokers",
        speaks="members ask a name server with which no broker registers",
        silent="they ask that one and the right one",
        what={
            "": "In group {group}, {lost_count:member asks/ask} {asked} for routes ({clients}); brokers register with {registered}."
        },
        effect="They learn of no change (new topics, queues, brokers), and after a restart they may find nothing at "
        "all.",
        advice="Correct the name server address of these clients and restart them. A client that was given a domain name asks for it "
        "again every two minutes; one with fixed addresses keeps them.",
        explain="Compares the list that members report with the brokers' namesrvAddr. Lists with names instead of addresses are left "
        "alone: they may lead to the same servers.",
        next_command="mqctl group members {source} -g {group}",
    ),
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


@rule(
    "MQ625",
    Severity.WARNING,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS, Part.TOPICS),
    playbook="cluster-mixup",
    groups=ONLINE,
    topics=APPLICATION,
    texts=RuleTexts(
        title="A subscribed topic that this cluster does not have",
        speaks="members subscribe a topic that no broker has",
        silent="the topic is there, and nobody has sent to it",
        what={
            "": "{member_count:member} of group {group} {member_count:/subscribes/subscribe} {topic}, and no broker of this cluster has it."
        },
        effect="It is not consumed, and the only sign is a warning in the members' logs.",
        advice="Check the name of the topic, its namespace, and the cluster: consumers of two clusters in one process go to one of them "
        "unless each has an instance name of its own. A topic that its first message creates appears with it.",
        explain="Compares what members subscribe with the topic tables of all masters. Consumers start although a topic has no route, "
        "and ask for it again every 30 s.",
        next_command="mqctl topic list {source}",
    ),
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


@rule(
    "MQ626",
    Severity.WARNING,
    source="NettyRemotingClient.getAndCreateNameserverChannel",
    playbook="broker-down",
    texts=RuleTexts(
        title="A name server does not answer",
        speaks="one of two name servers does not answer",
        silent="it answers, and refuses one route",
        what={"": "Name server {address} does not answer: {reason}. {answering_count:other does/do}."},
        effect="Clients that list it use another one after a timeout. What only this one knows was not judged, and "
        "there is less redundancy left.",
        advice="Restart it, or take it out of the lists of brokers and clients if it is gone for good. If only this machine cannot reach it, look from another.",
        explain="Name servers do not know of each other, so nobody but clients and brokers notices. One that hangs and one behind a firewall look the "
        "same from here: the brokers' logs distinguish them.",
        next_command=_BROKERS,
    ),
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


@rule(
    "MQ627",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="broker-down",
    topics=APPLICATION,
    texts=RuleTexts(
        title="A route to a broker that does not have the topic",
        speaks="a topic was deleted on a broker and not at the name servers",
        silent="the topic is on that broker, closed for sends",
        what={"": "Name servers list {topic} on {brokers}, where it does not exist."},
        effect="Messages sent there are refused, or create the topic with default settings; pulls are refused with code 17. Consumers own its queues all the same.",
        advice="If the topic should be gone, delete it at the name servers as well (mqctl topic delete does both). "
        "Otherwise create it on that broker again.",
        explain="A broker that loses a topic registers the others, and name servers keep what they had (4.9.x). A topic that was deleted on the broker only "
        "and a broker that came back without its topics.json look the same: the second lacks all its topics.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
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
