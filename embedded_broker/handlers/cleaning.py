"""Cleaning on demand: 316 deletes the queues of topics that have no settings."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.model import names
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import CleanUnusedTopic

_KEPT = frozenset({names.SCHEDULE_TOPIC, names.HALF_TOPIC, names.OP_TOPIC, names.DISCARD_TOPIC})


@handles(CleanUnusedTopic)
def clean_topics(broker: Broker, request: CleanUnusedTopic, call: Call) -> RemotingCommand:
    for topic in broker.storage.topics() - _KEPT - broker.topics.configs.keys():
        broker.storage.delete_topic(topic)
    return call.answer()
