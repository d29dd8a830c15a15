"""Notes about pulls beyond a queue's ends, stored where monitors look for them (OFFSET_MOVED_EVENT)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from embedded_broker.log.intake import Incoming, put, with_properties
from mqctl.errors import MqctlError
from mqctl.model.names import OFFSET_MOVED_TOPIC
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import OffsetMovedEvent
from mqctl.protocol.requests_client import PullMessage

if TYPE_CHECKING:
    from embedded_broker.broker import Broker

log = logging.getLogger("embedded_broker")


def note_offset_moved(broker: Broker, request: PullMessage, new_offset: int) -> None:
    """Stores an event for a pull that was corrected (`generateOffsetMovedEvent` of 4.9.8)."""
    group = request.consumer_group
    event = OffsetMovedEvent(
        consumer_group=group,
        message_queue=MessageQueue(request.topic, broker.name, request.queue_id),
        offset_request=request.queue_offset,
        offset_new=new_offset,
    )
    message = Incoming(
        topic=OFFSET_MOVED_TOPIC,
        queue_id=0,
        body=event.to_bytes(),
        properties=with_properties("", {"KEYS": group, "DELAY": "0", "TAGS": group}),
        born_ms=broker.clock.now_ms(),
        born_host=broker.address,
    )
    try:
        put(broker, message)
    except MqctlError as error:
        log.warning("%s: event of a moved offset not stored: %s", broker.name, error)
