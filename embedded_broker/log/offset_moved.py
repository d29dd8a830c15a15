"""Notes about pulls beyond a queue's ends, stored where monitors look for them (OFFSET_MOVED_EVENT)."""

from __future__ import annotations

import logging

from embedded_broker.log.intake import Incoming, Intake
from mqctl.errors import MqctlError
from mqctl.model.names import OFFSET_MOVED_TOPIC
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import OffsetMovedEvent
from mqctl.protocol.properties import with_properties
from mqctl.protocol.requests_client import PullMessage

log = logging.getLogger("embedded_broker")


def note_offset_moved(intake: Intake, request: PullMessage, new_offset: int) -> None:
    """Stores an event for a pull that was corrected (`generateOffsetMovedEvent` of 4.9.8)."""
    group, broker_name = request.consumer_group, intake.settings.broker_name
    event = OffsetMovedEvent(
        consumer_group=group,
        message_queue=MessageQueue(request.topic, broker_name, request.queue_id),
        offset_request=request.queue_offset,
        offset_new=new_offset,
    )
    message = Incoming(
        topic=OFFSET_MOVED_TOPIC,
        queue_id=0,
        body=event.to_bytes(),
        properties=with_properties("", {"KEYS": group, "DELAY": "0", "TAGS": group}),
        born_ms=intake.clock.now_ms(),
        born_host=intake.store_host,
    )
    try:
        intake.put(message)
    except MqctlError as error:
        log.warning("%s: event of a moved offset not stored: %s", broker_name, error)
