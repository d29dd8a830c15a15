"""Sending again what a delay level will never deliver: when, and by which level or timer."""

from __future__ import annotations

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import DELAY, REAL_QID, REAL_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.stored_message import StoredMessage
from mqctl.text import sentence

_DELIVER_AT = "TIMER_DELIVER_MS"
_OWN = frozenset({DELAY, REAL_TOPIC, REAL_QID, "WAIT", "TRAN_MSG", "PGROUP", "CLUSTER", "MSG_REGION", "TRACE_ON"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedMessage:
    """A message that waits where nothing delivers it.

    Attributes:
        due_time_ms: when it was to be delivered; None when that is not known, and then it counts as due.
    """

    level: int
    queue_offset: int
    due_time_ms: int | None
    stored: StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend:
    """How a message goes on its way again.

    Attributes:
        delay_level: 0 sends it at once.
        properties: all that it is sent with; they include its unique id, so that copies can be told.
        late_ms: how much later than its due time it will come, because no level fits.
        problem: why it cannot be sent.
    """

    message: StrandedMessage
    topic: str
    queue_id: int | None
    delay_level: int
    properties: dict[str, str]
    late_ms: int = 0
    problem: str | None = None


def plan_resend(message: StrandedMessage, table: DelayLevelTable, *, timers: bool, now_ms: int) -> Resend:
    """Decides how to send one message: at once when it is due, else by timer or by the shortest level that fits.

    Args:
        table: the broker's delay levels.
        timers: whether the broker delivers at any moment (5.x with its timer wheel).
    """
    record = message.stored.message
    topic, queue = record.properties.get(REAL_TOPIC, ""), record.properties.get(REAL_QID, "")
    properties = {name: value for name, value in record.properties.items() if name not in _OWN}
    if record.reconsume_times and topic.startswith("%RETRY%"):
        properties["RECONSUME_TIME"] = str(record.reconsume_times)
    remaining_ms = max(0, (message.due_time_ms or 0) - now_ms)
    level, late_ms, problem = 0, 0, None
    if not topic:
        problem = sentence(
            "delay-resend-no-property-target-topic",
            "it has no property {real_topic}: its target topic is unknown",
            real_topic=REAL_TOPIC,
        )
    elif message.stored.problem is not None:
        problem = message.stored.problem
    elif remaining_ms and timers and message.due_time_ms is not None:
        properties[_DELIVER_AT] = str(message.due_time_ms)
    elif remaining_ms:
        fitting = [(ms, number) for number, ms in enumerate(table.delays_ms, start=1) if ms >= remaining_ms]
        if fitting:
            delay_ms, level = min(fitting)
            late_ms = delay_ms - remaining_ms
        else:
            problem = sentence(
                "due-later-longest-delay",
                "it is due later than the longest delay level; run this again closer to that time",
            )
    return Resend(
        message=message,
        topic=topic,
        queue_id=decimal(queue),
        delay_level=level,
        properties=properties,
        late_ms=late_ms,
        problem=problem,
    )
