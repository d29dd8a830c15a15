"""Copies of stored messages on their way back into the store, and where those that wait belong."""

from __future__ import annotations

from mqctl.model.message import REAL_QID, REAL_TOPIC, Message
from mqctl.model.names import BROKERS_OWN_TOPICS
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.store.record_writer import Incoming, is_name


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


def target_of(waiting: Message) -> tuple[str, int] | None:
    """Returns topic and queue that a waiting message is for, or None when it names none that messages may go to.

    A topic that is the broker's own is none: what is delivered to a schedule topic would be delivered again.
    """
    topic = waiting.properties.get(REAL_TOPIC, "")
    queue_id = decimal(waiting.properties.get(REAL_QID), high=MOST_INT32)
    if queue_id is None or not is_name(topic) or topic in BROKERS_OWN_TOPICS:
        return None
    return topic, queue_id
