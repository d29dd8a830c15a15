"""316, 306, 329: cleaning on demand: queues of unknown topics, queues whose messages are gone, old log files.

Source: `AdminBrokerProcessor`.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.model import names
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import CleanExpiredConsumeQueue, CleanUnusedTopic, DeleteExpiredCommitLog

_KEPT = frozenset({names.SCHEDULE_TOPIC, names.HALF_TOPIC, names.OP_TOPIC, names.DISCARD_TOPIC})


@handles(CleanUnusedTopic)
def clean_topics(broker: Broker, request: CleanUnusedTopic, call: Call) -> RemotingCommand:
    for topic in broker.storage.topics() - _KEPT - broker.topics.configs.keys():
        broker.storage.delete_topic(topic)
    return call.answer()


@handles(CleanExpiredConsumeQueue)
def clean_expired_queues(broker: Broker, request: CleanExpiredConsumeQueue, call: Call) -> RemotingCommand:
    broker.storage.retention.delete_expired_queues()
    return call.answer()


@handles(DeleteExpiredCommitLog)
def delete_expired_log(broker: Broker, request: DeleteExpiredCommitLog, call: Call) -> RemotingCommand:
    broker.storage.retention.delete_expired()
    return call.answer()
