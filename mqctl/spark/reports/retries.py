"""The retries report: what failed and came back, how often, what died, and what it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, group_of
from mqctl.model.report_rows_store import RetryAttempt, RetryError, RetryFlow, RetryGroup
from mqctl.model.reports import RetriesReport
from mqctl.spark.asking import Ask, Cut, Dim
from mqctl.spark.engines import Engine, Row, count, number, text
from mqctl.spark.reports.figures import stores_read
from mqctl.spark.wanted import Wanted


@dataclass(slots=True)
class _Group:
    """Sums of one group while rows are gone through."""

    retried: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    dead: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    times: list[int] = field(default_factory=list)


def retry_cuts(error_property: str) -> tuple[Cut, ...]:
    """Returns what must be counted."""
    cuts = (
        Cut("retries.attempts", (Dim.TOPIC, Dim.TIMES)),
        Cut("retries.flow", (Dim.TOPIC, Dim.TIME)),
    )
    return (*cuts, Cut("retries.errors", (Dim.TOPIC, Dim.VALUE))) if error_property else cuts


def retries(engine: Engine, wanted: Wanted, *, bucket_ms: int, error_property: str = "") -> RetriesReport:
    """Scans the stores, and looks how far groups are behind on their retry topics."""
    ask = Ask(retry_cuts(error_property), bucket_ms=bucket_ms, value_property=error_property)
    everything = replace(wanted, topics=())  # retry topics have names of their own: groups choose here
    return retries_report(
        engine.rows("counts", everything, ask), engine.rows("lags", everything, Ask(())), wanted, bucket_ms=bucket_ms
    )


def retries_report(counted: Sequence[Row], lags: Iterable[Row], wanted: Wanted, *, bucket_ms: int) -> RetriesReport:
    """Builds the report from combined counts and lags."""
    groups: dict[str, _Group] = defaultdict(_Group)
    flow: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    errors: dict[tuple[str, str], int] = defaultdict(int)
    for row in counted:
        topic = str(row.get("topic") or "")
        group = group_of(topic)
        if group is None or (wanted.groups and group not in wanted.groups):
            continue
        if row["cut"] == "retries.attempts":
            own = groups[group]
            attempts = own.dead if topic.startswith(DLQ_PREFIX) else own.retried
            attempts[count(row, "reconsume_times")] += count(row, "messages")
            own.times += [count(row, "oldest_ms"), count(row, "newest_ms")]
        elif row["cut"] == "retries.flow":
            flow[(group, count(row, "time_ms"))][topic.startswith(DLQ_PREFIX)] += count(row, "messages")
        elif row["cut"] == "retries.errors" and row.get("value") is not None:
            errors[(group, text(row, "value"))] += count(row, "messages")
    waiting: dict[str, int] = defaultdict(int)
    for row in lags:
        lag = number(row.get("lag"))
        if text(row, "topic") == RETRY_PREFIX + text(row, "group") and lag is not None:
            waiting[text(row, "group")] += max(0, lag - count(row, "lost"))
    return RetriesReport(
        bucket_ms=bucket_ms,
        read=stores_read(counted),
        groups=sorted(
            (_group(name, own, waiting.get(name)) for name, own in groups.items()),
            key=lambda row: (-row.retries - row.dead, row.group),
        ),
        attempts=[row for name, own in sorted(groups.items()) for row in _attempts(name, own)],
        flow=[
            RetryFlow(group=group, time_ms=at, retries=sums[0], dead=sums[1])
            for (group, at), sums in sorted(flow.items())
        ],
        errors=[
            RetryError(group=group, value=value, messages=messages)
            for (group, value), messages in sorted(errors.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        ],
    )


def _group(name: str, own: _Group, waiting: int | None) -> RetryGroup:
    first = min(own.retried, default=0)
    return RetryGroup(
        group=name,
        retries=sum(own.retried.values()),
        first_retries=own.retried.get(first, 0),
        dead=sum(own.dead.values()),
        most_attempts=max([*own.retried, *own.dead], default=0),
        waiting=waiting,
        first_ms=min(own.times, default=None),
        last_ms=max(own.times, default=None),
    )


def _attempts(name: str, own: _Group) -> list[RetryAttempt]:
    return [
        RetryAttempt(
            group=name,
            attempt=attempt,
            retried=own.retried.get(attempt, 0),
            dead=own.dead.get(attempt, 0),
            ended=own.retried.get(attempt, 0) - own.retried.get(attempt + 1, 0) - own.dead.get(attempt + 1, 0),
        )
        for attempt in sorted({*own.retried, *own.dead})
    ]
