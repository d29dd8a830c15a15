"""What would and would not help against a backlog, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl import units
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.remedies import Remedy
from mqctl.lag.words import EFFECTS, NEEDED, REASONS, REMEDIES
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Table
from mqctl.text import printable, sentence

_REMEDY_COLUMNS = (
    Column("what", "option"),
    Column("effect", "effect"),
    Column("needed", "needed"),
    Column("reason", "because"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownRemedy:
    what: str
    effect: str
    needed: str | None
    reason: str


def remedy_tables(advices: Sequence[BacklogAdvice]) -> list[Table]:
    """Returns for each backlog what would and would not help."""
    tables = []
    for advice in advices:
        if advice.remedies:
            tables.append(Table(_REMEDY_COLUMNS, list(map(_shown_remedy, advice.remedies)), title=_title(advice)))
    return tables


def _title(advice: BacklogAdvice) -> str:
    values = {"group": advice.group, "topic": advice.topic, "target_ms": advice.target_ms}
    if advice.consume_ms is None:
        return sentence("remedies-title", "{group} on {topic}: to drain within {target_ms}", **values)
    return sentence(
        "remedies-title-timed",
        "{group} on {topic}: the listener takes {each_ms} each time; to drain within {target_ms}",
        each_ms=round(advice.consume_ms),
        **values,
    )


def _shown_remedy(item: Remedy) -> _ShownRemedy:
    needed = item.needed_count
    return _ShownRemedy(
        what=REMEDIES[item.what],
        effect=EFFECTS[item.effect.value],
        needed=None if needed is None else NEEDED[item.what](count=units.Count(needed)),
        reason=_reason(item),
    )


def _reason(item: Remedy) -> str:
    text = REASONS[f"{item.what}_{item.reason}"]
    forecast = item.forecast
    if forecast is None or item.reason == "stuck":
        return text()
    said = text(
        key=printable(forecast.busiest_key or "-"),
        busiest_share=forecast.busiest_share,
        gain=forecast.gain,
        queue_tps=forecast.queue_tps,
        key_tps=forecast.key_tps,
    )
    if forecast.is_exact:
        return sentence(
            "remedy-by-all-keys",
            "{reason}; by the keys of all {waiting:,} that wait",
            reason=said,
            waiting=forecast.waiting_count,
        )
    return sentence(
        "remedy-by-sampled-keys",
        "{reason}; by the keys of {read:,} of {waiting:,} that wait",
        reason=said,
        read=forecast.read_count,
        waiting=forecast.waiting_count,
    )
