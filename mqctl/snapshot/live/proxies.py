"""Clients of 5.x proxies, as the proxies tell each other of them: by messages that lie on the brokers.

In cluster mode no broker knows the clients of a proxy. Each proxy sends what registers with it, and what leaves, to a
topic that all proxies consume (`HeartbeatSyncer` of 5.3.3; recorded). So who is online can be read from the brokers
also where nobody named a proxy, or none can be reached.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.gap import GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import PROXY_HEARTBEAT_TOPIC
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import Connection, ConsumerConnection, ProxyHeartbeat
from mqctl.protocol.body import BodyError
from mqctl.protocol.codes import ResponseCode
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.messages import READER_GROUP, ask_bounds

_GROUP = f"CID_{PROXY_HEARTBEAT_TOPIC}"
_NEWEST, _PULLED = 512, 32
# A proxy takes a client for gone after two minutes, and clients of gRPC send every ten seconds, others every thirty.
_FRESH_MS = 120_000
_LEFT = "UNREGISTER"
_OFFLINE = frozenset({int(ResponseCode.CONSUMER_NOT_ONLINE)})


@dataclass(frozen=True, slots=True)
class ProxiedGroup:
    """The clients of one group; `proxies` is the remoting address of the proxy of each, by client id."""

    connection: ConsumerConnection
    proxies: Mapping[str, str]


def groups_of_proxies(
    asking: Asking, brokers: Sequence[LiveBroker], groups: Collection[str]
) -> dict[str, ProxiedGroup]:
    """Returns which of the groups have clients at proxies; what a broker does not tell of that becomes a gap of it.

    Where no proxy is connected to the brokers, what old messages say counts for nothing.

    Args:
        brokers: those that answered before; no other is asked.
    """
    heard = {broker.name: broker for broker in brokers if broker.address.is_master}
    try:
        route = asking.cluster.route(PROXY_HEARTBEAT_TOPIC, asking.deadline)
    except NotFoundError:
        return {}
    except MqctlError as error:
        for broker in heard.values():
            _miss(broker, error)
        return {}
    online = asking.put(
        (name, broker.address.address, ask.consumer_connections(_GROUP)) for name, broker in heard.items()
    )
    for name, failure in online.errors.items():
        if not refused_with(failure, _OFFLINE):
            _miss(heard[name], failure)
    queues = {
        MessageQueue(PROXY_HEARTBEAT_TOPIC, item.broker_name, number): heard[item.broker_name].address.address
        for item in route.queue_datas
        for number in range(item.read_queue_nums)
        if item.broker_name in online.values
    }
    heartbeats, errors = _newest(asking, queues)
    for queue, failure in errors.items():
        _miss(heard[queue.broker_name], failure)
    return _by_group(heartbeats, groups)


def connected_proxies(asking: Asking, brokers: Sequence[LiveBroker]) -> tuple[str, ...]:
    """Returns the client ids of the proxies that brokers know, as far as these answer."""
    addresses = sorted({broker.address.address for broker in brokers})
    answers = asking.put((address, address, ask.consumer_connections(_GROUP)) for address in addresses)
    return tuple(sorted({item.client_id for answer in answers.values.values() for item in answer.connection_set}))


def _miss(broker: LiveBroker, error: MqctlError) -> None:
    broker.miss(Part.MEMBERS, error, GapSubject(topic=PROXY_HEARTBEAT_TOPIC))


def _newest(
    asking: Asking, queues: dict[MessageQueue, str]
) -> tuple[list[ProxyHeartbeat], dict[MessageQueue, MqctlError]]:
    """Reads the newest messages of each queue; those that are none are passed over."""
    bounds, failures = ask_bounds(asking, queues)
    answers = asking.put(
        ((queue, start), queues[queue], messages.pull(READER_GROUP, queue.topic, queue.queue_id, start))
        for queue, (low, end) in bounds.items()
        for start in range(max(low, end - _NEWEST), end, _PULLED)
    )
    heartbeats = []
    for key in sorted(answers.values):
        for message in answers.values[key].messages:
            try:
                heartbeats.append(ProxyHeartbeat.from_bytes(message.body))
            except BodyError:
                continue
    return heartbeats, {**failures, **{queue: error for (queue, _), error in answers.errors.items()}}


def _by_group(heartbeats: list[ProxyHeartbeat], groups: Collection[str]) -> dict[str, ProxiedGroup]:
    newest_ms = max((item.last_update_timestamp for item in heartbeats), default=0)
    last = {
        (item.group, item.client_id): item for item in sorted(heartbeats, key=lambda item: item.last_update_timestamp)
    }
    by_group: dict[str, list[ProxyHeartbeat]] = {}
    for (group, _), item in sorted(last.items()):
        fresh = newest_ms - item.last_update_timestamp <= _FRESH_MS
        if group in groups and fresh and item.heartbeat_type != _LEFT:
            by_group.setdefault(group, []).append(item)
    return {group: _joined(items) for group, items in by_group.items()}


def _joined(items: list[ProxyHeartbeat]) -> ProxiedGroup:
    first = items[0]
    connections = (
        Connection(client_addr=_address(item), client_id=item.client_id, language=item.language, version=item.version)
        for item in items
    )
    return ProxiedGroup(
        ConsumerConnection(
            connection_set=tuple(connections),
            consume_from_where=first.consume_from_where,
            consume_type=first.consume_type,
            message_model=first.message_model,
            subscription_table={entry.topic: entry for item in items for entry in item.subscription_data_set},
        ),
        {item.client_id: ":".join(item.local_proxy_id.split("%")[:2]) for item in items},
    )


def _address(item: ProxyHeartbeat) -> str:
    """Returns where a client's connection to its proxy comes from, as far as that is told."""
    try:
        channel = json.loads(item.channel_data)
    except (ValueError, RecursionError):
        return "?"
    address = channel.get("remoteAddress") if isinstance(channel, dict) else None
    return address if isinstance(address, str) else "?"
