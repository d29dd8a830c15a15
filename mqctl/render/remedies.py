"""What would and would not help against a backlog, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.diagnosis.backlog_advice import BacklogAdvice
from mqctl.diagnosis.backlog_remedies import Remedy
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render import units
from mqctl.render.document import Column, Table
from mqctl.render.messages import phrase
from mqctl.render.text import printable

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


def remedy_tables(advices: Sequence[BacklogAdvice], lang: Lang | None) -> list[Table]:
    """Returns for each backlog what would and would not help."""
    tables = []
    for advice in advices:
        if advice.remedies:
            title = phrase("remedies" if advice.consume_ms is None else "remedies_timed", lang).format(
                group=advice.group,
                topic=advice.topic,
                target=units.duration(advice.target_ms),
                each=units.duration(round(advice.consume_ms or 0)),
            )
            tables.append(Table(_REMEDY_COLUMNS, [_shown_remedy(item, lang) for item in advice.remedies], title=title))
    return tables


def _shown_remedy(item: Remedy, lang: Lang | None) -> _ShownRemedy:
    needed = item.needed_count
    return _ShownRemedy(
        what=phrase(f"remedy_{item.what}", lang),
        effect=phrase(f"effect_{item.effect.value}", lang),
        needed=None if needed is None else phrase(f"needed_{item.what}", lang).format(count=units.count(needed)),
        reason=_reason(item, lang),
    )


def _reason(item: Remedy, lang: Lang | None) -> str:
    text = phrase(f"reason_{item.what}_{item.reason}", lang)
    forecast = item.forecast
    if forecast is None or item.reason == "stuck":
        return text
    said = text.format(
        key=printable(forecast.busiest_key or "-"),
        share=f"{forecast.busiest_share:.0%}",
        gain=f"{forecast.gain:.1f}",
        now=_rate(forecast.queue_tps),
        then=_rate(forecast.key_tps),
    )
    how = "keys_exact" if forecast.is_exact else "keys_sampled"
    return said + phrase(how, lang).format(read=f"{forecast.read_count:,}", waiting=f"{forecast.waiting_count:,}")


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}"
