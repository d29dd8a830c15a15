"""Trace messages as the Java client writes them (`TraceDataEncoder` of 4.9.8): who sent and who consumed what, when.

Hook a `Tracer` into a producer (`after_send=tracer.sent`) or a push consumer (`after_consume=tracer.consumed`). It
gathers and sends in the background; traces that cannot be sent are lost, as Java's are, and noted among the troubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from types import TracebackType
from typing import Self

from mqctl.client.consumer.consuming import Heard
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer, Sent
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import TRACE_TOPIC

_CONTENT = "\x01"
_FIELD = "\x02"
_NORMAL, _DELAYED = "0", "3"
_SUCCEEDED, _RAISED, _RETURNED_NULL, _FAILED = "0", "2", "3", "4"
_MOST_TOGETHER = 100
_MOST_BYTES = 128_000
_DEFAULT_REGION = "DefaultRegion"


@dataclass(frozen=True, slots=True)
class _Trace:
    """One line of a trace message, with the keys by which it is found."""

    text: str
    keys: tuple[str, ...]


class Tracer:
    """Writes the traces of one group. Use as a context manager, or `start` and `shutdown`.

    Args:
        flush_period_ms: how often what was gathered is sent, on the client's clock.
    """

    def __init__(
        self, group: str, client: ClientSettings, *, topic: str = TRACE_TOPIC, flush_period_ms: int = 500
    ) -> None:
        self._group = group
        self._topic = topic
        self._producer = Producer(f"_INNER_TRACE_PRODUCER-{group}", client)
        self._period_ms = flush_period_ms
        self._lock = Lock()
        self._gathered: list[_Trace] = []

    def start(self) -> None:
        """Starts its threads."""
        self._producer.start()
        period_ms = self._period_ms
        self._producer.instance.timers.every(period_ms, period_ms, "send traces", self.flush)

    def shutdown(self) -> None:
        """Sends what is left and ends its threads."""
        try:
            self.flush()
        except MqctlError as error:
            self._producer.instance.troubles.add("send traces", error)
        self._producer.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    # Hooks

    def sent(self, event: Sent) -> None:
        """Traces a send."""
        message, result = event.message, event.result
        if message.topic == self._topic:
            return
        keys = message.keys if isinstance(message.keys, str) else " ".join(message.keys)
        parts = (
            "Pub",
            str(event.began_ms),
            (result.region if result else None) or _DEFAULT_REGION,
            self._group,
            message.topic,
            event.message_id,
            message.tags or "",
            keys,
            result.address if result else "",
            str(len(message.body)),
            str(event.took_ms),
            _DELAYED if message.delay_level > 0 else _NORMAL,
            result.offset_id if result else "",
            "true" if result else "false",
        )
        self._gather([_Trace(_CONTENT.join(parts) + _FIELD, (event.message_id, *keys.split()))])

    def consumed(self, messages: Sequence[ReceivedMessage], heard: Heard) -> None:
        """Traces one call of a listener."""
        instance = self._producer.instance
        request_id = instance.unique_ids.next()
        now_ms = instance.clock.now_ms()
        succeeded = heard.result in (Consumed.SUCCESS, Consumed.COMMIT)
        code = _SUCCEEDED if succeeded else _RAISED if heard.error else _FAILED if heard.result else _RETURNED_NULL
        cost_ms = heard.took_ms // max(1, len(messages))
        before: list[_Trace] = []
        after: list[_Trace] = []
        for message in messages:
            keys = " ".join(message.keys)
            parts = (message.message_id, *message.keys)
            region = message.properties.get("MSG_REGION", _DEFAULT_REGION)
            before.append(
                _line(
                    parts, "SubBefore", message.began_ms, region, self._group, request_id, message.message_id,
                    message.reconsume_times, keys,
                )
            )  # fmt: skip
            after.append(
                _line(
                    parts, "SubAfter", request_id, message.message_id, cost_ms, "true" if succeeded else "false", keys,
                    code, now_ms, self._group,
                )
            )  # fmt: skip
        self._gather([*before, *after])

    # Below

    def _gather(self, traces: list[_Trace]) -> None:
        with self._lock:
            self._gathered += traces

    def flush(self) -> None:
        """Sends what was gathered. Raises MqctlError when it cannot even be sent; it is lost then."""
        with self._lock:
            gathered, self._gathered = self._gathered, []
        start = 0
        while start < len(gathered):
            end, size = start, 0
            while end < len(gathered) and end - start < _MOST_TOGETHER and size < _MOST_BYTES:
                size += len(gathered[end].text)
                end += 1
            self._send(gathered[start:end])
            start = end

    def _send(self, traces: Sequence[_Trace]) -> None:
        keys = tuple(dict.fromkeys(key for trace in traces for key in trace.keys))
        body = "".join([trace.text for trace in traces]).encode()
        self._producer.send(OutgoingMessage(topic=self._topic, body=body, keys=keys))


def _line(keys: tuple[str, ...], *parts: object) -> _Trace:
    return _Trace(_CONTENT.join(map(str, parts)) + _FIELD, keys)
