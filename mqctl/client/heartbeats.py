"""What heartbeats say, and how little of it has to be said again (V2 heartbeats of 5.x).

A V2 heartbeat bears a fingerprint of what the client is. After a full one that a broker understood it goes without the
subscriptions, until they change or the broker asks for them. Source: `HeartbeatData.computeHeartbeatFingerprint` and
`MQClientInstance.sendHeartbeatToBrokerV2` of 5.3.3.
"""

from __future__ import annotations

from zlib import crc32

from mqctl.client.remoting.link import Link
from mqctl.protocol.bodies_client import HeartbeatData
from mqctl.protocol.declared import replaced
from mqctl.protocol.requests_client import HeartbeatReply

_SIGN = 1 << 31


def fingerprint(data: HeartbeatData) -> int:
    """Returns a signed 32-bit number that stays the same while subscriptions do, whatever their versions; never 0."""
    consumers = tuple([
        replaced(
            consumer,
            subscription_data_set=tuple([replaced(item, sub_version=0) for item in consumer.subscription_data_set]),
        )
        for consumer in data.consumer_data_set
    ])  # fmt: skip
    number = crc32(replaced(data, consumer_data_set=consumers).to_bytes()) or 1
    return number - 2 * _SIGN if number >= _SIGN else number


class Fingerprints:
    """Which brokers know what a client is, by address.

    A connection that is new has a broker behind it that may have been started anew: it is told everything.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Link, int]] = {}

    def heartbeat(self, link: Link, data: HeartbeatData) -> HeartbeatData:
        """Returns what is to be said on a connection."""
        number = fingerprint(data)
        if self._known.get(link.address) != (link, number):
            return replaced(data, heartbeat_fingerprint=number, without_sub=False)
        consumers = tuple([replaced(item, subscription_data_set=()) for item in data.consumer_data_set])
        return replaced(data, consumer_data_set=consumers, heartbeat_fingerprint=number, without_sub=True)

    def answered(self, link: Link, said: HeartbeatData, reply: HeartbeatReply) -> None:
        """Notes an answer: a broker that knows no V2, or saw subscriptions of another client, wants all next time."""
        self._known.pop(link.address, None)
        if reply.supports_v2 and not reply.subscription_changed and said.heartbeat_fingerprint:
            self._known[link.address] = (link, said.heartbeat_fingerprint)
