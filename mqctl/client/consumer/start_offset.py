"""Where to begin with a queue (`RebalancePushImpl.computePullFromWhere` of 4.9.8)."""

from __future__ import annotations

from mqctl.client.admin.broker_queries import max_offset, offset_by_time
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.instance import ClientInstance
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.question import Question
from mqctl.errors import UnreachableError
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

HALF_AN_HOUR_MS = 30 * 60_000


def start_offset(
    instance: ClientInstance,
    queue: MessageQueue,
    stored: int | None,
    consume_from: ConsumeFrom,
    *,
    consume_time_ms: int,
) -> int:
    """Returns the queue offset to pull first.

    Args:
        stored: the offset that the group committed.

    Raises:
        MqctlError: the broker was asked and did not answer; try again later.
    """
    if stored is not None and stored >= 0:
        return stored
    is_retry = queue.topic.startswith(RETRY_PREFIX)
    if consume_from is ConsumeFrom.FIRST_OFFSET or (consume_from is ConsumeFrom.LAST_OFFSET and is_retry):
        return 0
    if consume_from is ConsumeFrom.LAST_OFFSET or is_retry:
        return _ask(instance, queue, max_offset(queue.topic, queue.queue_id))
    return _ask(instance, queue, offset_by_time(queue.topic, queue.queue_id, consume_time_ms))


def _ask(instance: ClientInstance, queue: MessageQueue, question: Question[int]) -> int:
    address = instance.routes.master(queue.broker_name)
    if address is None:
        raise UnreachableError(
            sentence(
                "client-could-not-get-end",
                "could not get the end of {topic} queue {queue_id} from {broker_name}",
                topic=queue.topic,
                queue_id=queue.queue_id,
                broker_name=queue.broker_name,
            ),
            reason=sentence("client-no-address-master-known", "no address of its master is known"),
        )
    return instance.links.ask(address, question, Deadline(instance.settings.api_timeout_ms))
