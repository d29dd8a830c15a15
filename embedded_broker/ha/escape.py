"""A slave that stands in for its master may write nothing; what falls due goes to another broker of the topic instead.

It is sent as from a producer (310), to the next writable queue of another broker name. Only with `enableRemoteEscape`;
without it, what is due waits for the master. Source: `EscapeBridge` of 5.3.3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock
from embedded_broker.namesrv.registration import Registration
from embedded_broker.release import Release
from embedded_broker.remoting.handler_table import sends
from embedded_broker.remoting.outbound import Outbound
from embedded_broker.settings import BrokerSettings
from mqctl.errors import MqctlError
from mqctl.model.config import PERM_WRITE
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import SendMessageV2
from mqctl.protocol.requests_namesrv import GetRouteInfo
from mqctl.store.record_writer import Incoming

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

_TIMEOUT_MS = 3_000
_DEFAULT_TOPIC, _DEFAULT_QUEUES = "TBW102", 8

sends(SendMessageV2)


class Escape:
    """Sends messages to other brokers of their topics."""

    def __init__(
        self,
        settings: BrokerSettings,
        release: Release,
        clock: Clock,
        registration: Registration,
        context: ssl.SSLContext | None,
    ) -> None:
        self._settings, self._release, self._clock = settings, release, clock
        self._registration = registration
        self._context = context
        self._connections: dict[str, Outbound] = {}
        self._turn = 0

    def send(self, message: Incoming, done: Callable[[bool], object]) -> None:
        """Sends a message; `done` hears whether another broker stored it."""
        request = GetRouteInfo(topic=message.topic, accept_standard_json_only=True)

        def routed(answer: RemotingCommand | None) -> None:
            place = self._place(answer)
            if place is None:
                done(False)
                return
            address, queue_id = place
            command = self._request(message, queue_id).command(
                opaque=0, body=message.body, version=self._release.ordinal
            )
            connection = self._connections.get(address)
            if connection is None:
                connection = self._connections[address] = Outbound(address, self._clock, self._context)
            connection.call(command, _TIMEOUT_MS, answered)

        def answered(stored: RemotingCommand | None) -> None:
            done(stored is not None and stored.code == 0)

        self._registration.ask(request, routed)

    def drop(self) -> None:
        """Closes the connections."""
        for connection in self._connections.values():
            connection.drop()

    def _place(self, answer: RemotingCommand | None) -> tuple[str, int] | None:
        """Returns address and queue of the next place that takes messages; None without another master."""
        if answer is None or answer.code != 0:
            return None
        try:
            route = TopicRouteData.from_bytes(answer.body)
        except MqctlError as error:
            log.warning("a route cannot be read: %s", error)
            return None
        masters = {data.broker_name: data.broker_addrs.get(0) for data in route.broker_datas}
        places = [
            (address, number)
            for data in route.queue_datas
            if data.perm & PERM_WRITE and data.broker_name != self._settings.broker_name
            for address in [masters.get(data.broker_name)]
            if address is not None
            for number in range(data.write_queue_nums)
        ]
        self._turn += 1
        return places[self._turn % len(places)] if places else None

    def _request(self, message: Incoming, queue_id: int) -> SendMessageV2:
        settings = self._settings
        return SendMessageV2(
            producer_group=f"InnerProducerGroup_{settings.broker_name}_{settings.broker_id}",
            topic=message.topic,
            default_topic=_DEFAULT_TOPIC,
            default_topic_queue_nums=_DEFAULT_QUEUES,
            queue_id=queue_id,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_ms,
            flag=message.flag,
            properties=message.properties,
            reconsume_times=message.reconsume_times,
            unit_mode=False,
            batch=False,
        )
