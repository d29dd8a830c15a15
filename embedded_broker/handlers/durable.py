"""Answers that say of something stored or changed that it is on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from embedded_broker.broker import Broker
from embedded_broker.log.settings import SYNC_FLUSH
from embedded_broker.remoting.handler_table import Call
from mqctl.errors import StorageError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand


def answer_when_durable(
    broker: Broker, call: Call, answer: RemotingCommand, failing: ResponseCode = ResponseCode.SYSTEM_ERROR
) -> None:
    """Sends an answer once all messages that were stored so far are on disk; real brokers wait for sends only.

    Args:
        failing: code of the answer when they do not get there.
    """

    def flushed(failure: StorageError | None) -> None:
        call.respond(answer if failure is None else call.answer(failing, remark=str(failure)))

    broker.storage.when_durable(flushed)


@contextmanager
def confirmed_offsets(broker: Broker, group: str, topic: str) -> Iterator[None]:
    """With SYNC_FLUSH, has the offsets that a block changes on the disk behind it, and the messages before them.

    A real broker answers, and writes them within seconds.

    Raises:
        StorageError: they are not there, and nothing has changed.
    """
    if broker.settings.flush_disk_type == SYNC_FLUSH:
        broker.storage.sync_log()
    with broker.offsets.confirmed(group, topic):
        yield
