"""Copies of stored messages on their way back into the store."""

from __future__ import annotations

from mqctl.model.message import Message
from mqctl.store.record_writer import Incoming


def copy_of(message: Message, properties: str) -> Incoming:
    """Returns a message to be stored again, with `properties` as its text."""
    return Incoming(
        topic=message.topic,
        queue_id=message.queue_id,
        body=message.body,
        properties=properties,
        sys_flag=message.sys_flag,
        flag=message.flag,
        born_ms=message.born_time_ms,
        born_host=message.born_host,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
    )
