"""Checkpoints and acknowledgements on their way into the store.

A record is a timer message for a queue of the revive topic: a checkpoint arrives there a second before its messages
become visible, an acknowledgement at that moment. Source: `PopMessageProcessor.buildCkMsg` and
`AckMessageProcessor.appendAck` of 5.3.3.
"""

from __future__ import annotations

from embedded_broker.delay.hanging import Moment
from embedded_broker.pop.ground import Ground
from mqctl.model.names import TIMER_TOPIC, revive_topic
from mqctl.protocol.bodies_pop import CK_TAG, AckRecord, PopCheckPoint
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR as NV
from mqctl.protocol.properties import PROPERTY_SEPARATOR as SEP
from mqctl.store.record_writer import Incoming

_CHECKPOINT_EARLIER_MS = 1_000


class PopRecords:
    """Writes records into the revive topic, through the timer wheel.

    Attributes:
        topic: the revive topic of this broker's cluster.
        queue_count: how many queues of it are used.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._pops = 0
        self.topic = revive_topic(ground.settings.broker_cluster_name)
        self.queue_count = ground.settings.revive_queue_num

    def next_queue(self) -> int:
        """Returns the revive queue of the next pop: all of them in turn."""
        self._pops += 1
        return (self._pops - 1) % self.queue_count

    def store_checkpoint(self, checkpoint: PopCheckPoint, revive_queue: int) -> None:
        """Stores what was popped.

        Raises:
            Refusal: its moment is too far away, or there is no timer wheel.
            DiskFullError, MessageRefused, StorageError: it is not stored.
        """
        deliver_ms = checkpoint.due_ms - _CHECKPOINT_EARLIER_MS
        self._store(CK_TAG, checkpoint.unique_key, checkpoint.to_bytes(), deliver_ms, revive_queue)

    def store_ack(self, ack: AckRecord, due_ms: int, revive_queue: int) -> None:
        """Stores an acknowledgement; `due_ms` is when the messages would become visible. Raises as above."""
        self._store(ack.tag, ack.unique_key, ack.to_bytes(), due_ms, revive_queue)

    def _store(self, tag: str, unique_key: str, body: bytes, deliver_ms: int, revive_queue: int) -> None:
        intake, topic, queue_id, moment = self._ground.intake, self.topic, revive_queue, None
        now_ms = self._ground.clock.now_ms()
        properties = f"TAGS{NV}{tag}{SEP}TIMER_DELIVER_MS{NV}{deliver_ms}{SEP}UNIQ_KEY{NV}{unique_key}{SEP}"
        out_ms = intake.out_ms(deliver_ms, now_ms)
        if out_ms is not None:  # said here what the intake would work out from the text
            properties += f"TIMER_OUT_MS{NV}{out_ms}{SEP}REAL_TOPIC{NV}{topic}{SEP}REAL_QID{NV}{queue_id}{SEP}"
            moment = Moment(out_ms, topic)
            topic, queue_id = TIMER_TOPIC, 0
        intake.put_ready(
            Incoming(
                topic=topic,
                queue_id=queue_id,
                body=body,
                properties=properties,
                born_ms=now_ms,
                born_host=intake.store_host,
            ),
            moment,
        )
