"""What name servers tell: the brokers they know, and where topics live. Apart from the rest so that it starts fast."""

from __future__ import annotations

from dataclasses import replace

from mqctl.client.admin.cluster import BrokerAddress, broker_addresses
from mqctl.client.admin.nameserver import cluster_info, route
from mqctl.errors import UnreachableError
from mqctl.model.counts import counted
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.route import BrokerEndpoint, NameServerView, RouteQueues, TopicRoute
from mqctl.protocol import bodies_cluster as wire
from mqctl.protocol.codes import NO_TOPIC
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.text import joined, sentence


def ask_name_servers(
    asking: Asking,
) -> tuple[dict[str, tuple[BrokerEndpoint, ...]], tuple[BrokerAddress, ...], list[Gap]]:
    """Asks every name server for its brokers; the union of what they know is the cluster."""
    addresses = asking.cluster.name_servers.addresses(asking.deadline)
    answers = asking.put((address, address, cluster_info()) for address in addresses)
    if not answers.values:
        first = next(iter(answers.errors.values()))
        if len(addresses) == 1:
            raise first
        reasons = joined("; ", (str(error) for error in answers.errors.values()))
        raise UnreachableError(
            sentence("none-answered", "none of {addresses} answered", addresses=counted(len(addresses), "name server")),
            reason=reasons,
            remedy=first.remedy,
        )
    known = sorted({broker for info in answers.values.values() for broker in broker_addresses(info)})
    servers = {address: endpoints_of(answers.values[address]) for address in addresses if address in answers.values}
    return (
        servers,
        tuple(known),
        answers.gaps(Part.ROUTES, {address: GapSubject(address=address) for address in addresses}),
    )


def endpoints_of(info: wire.ClusterInfo) -> tuple[BrokerEndpoint, ...]:
    """Returns the brokers that a name server lists, by name."""
    lists = {name: set(names) for name, names in info.cluster_addr_table.items()}
    return tuple(
        replace(_endpoint(data), also_in=tuple(sorted(it for it in lists if name in lists[it] and it != data.cluster)))
        for name, data in sorted(info.broker_addr_table.items())
    )


def _endpoint(data: wire.BrokerData) -> BrokerEndpoint:
    return BrokerEndpoint(
        cluster=data.cluster, name=data.broker_name, addresses=dict(sorted(data.broker_addrs.items()))
    )


def ask_routes(
    asking: Asking, servers: dict[str, tuple[BrokerEndpoint, ...]], topics: list[str]
) -> tuple[tuple[NameServerView, ...], list[Gap]]:
    """Asks every name server for every route: they do not talk to each other, and may differ."""
    keys = [(address, topic) for address in servers for topic in topics]
    answers = asking.put((key, key[0], route(key[1])) for key in keys)
    views = tuple(
        NameServerView(
            address=address,
            endpoints=endpoints,
            routes=tuple(
                _route(topic, answers.values[address, topic]) for topic in topics if (address, topic) in answers.values
            ),
            unknown_topics=tuple(
                topic
                for topic in topics
                if (error := answers.errors.get((address, topic))) is not None and refused_with(error, NO_TOPIC)
            ),
        )
        for address, endpoints in servers.items()
    )
    gaps = [
        Gap.of(Part.ROUTES, error, GapSubject(topic=topic, address=address))
        for (address, topic), error in answers.errors.items()
        if not refused_with(error, NO_TOPIC)
    ]
    return views, gaps


def _route(topic: str, data: wire.TopicRouteData) -> TopicRoute:
    return TopicRoute(
        topic=topic,
        queues=tuple(
            RouteQueues(
                broker_name=item.broker_name,
                read_queue_count=item.read_queue_nums,
                write_queue_count=item.write_queue_nums,
                perm=item.perm,
            )
            for item in sorted(data.queue_datas, key=lambda item: item.broker_name)
        ),
        endpoints=tuple(_endpoint(item) for item in sorted(data.broker_datas, key=lambda item: item.broker_name)),
        order_conf=data.order_topic_conf or None,
    )
