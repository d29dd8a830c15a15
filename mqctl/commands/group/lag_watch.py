"""Lag round after round: shown with its trend, or waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic, sleep, time

from mqctl.cli.connection.target import DEFAULT_TIMEOUT_MS, ClusterTarget
from mqctl.cli.emit import Output, tell
from mqctl.cli.gaps import answer, gap_lines
from mqctl.cli.terminal.progress import Report, step_progress
from mqctl.cli.terminal.screen import Screen, fitted_lines, is_terminal
from mqctl.cli.times import parse_span_ms
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.group.lag_view import By, LagDisplay, lag_document, round_document
from mqctl.errors import DeadlineError, ExitCode, MqctlError, NotFoundError, UnreachableError, UsageError
from mqctl.lag.current import CurrentLag, LagRequest
from mqctl.model.gap import Part, exit_code_of
from mqctl.model.lag_condition import Condition, Truth, facts_of, parse_condition
from mqctl.model.lag_trend import LagLook, look_at, trends, within_window
from mqctl.model.lazy_dataclass import dataclass
from mqctl.snapshot.live.lag import live_lag
from mqctl.text import sentence

LEAST_EVERY_MS = 100
UNTIL_LIMIT_MS = 600_000
Ask = Callable[[int], CurrentLag]
"""Asks once, within so many milliseconds."""
_ROOM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LagPace:
    """How often, and until when.

    Attributes:
        count: rounds; None for no end.
        limit_ms: time for all rounds; None for no end.
        round_ms: limit of one round.
    """

    every_ms: int
    round_ms: int
    count: int | None = None
    limit_ms: int | None = None

    def __post_init__(self) -> None:
        if self.every_ms < LEAST_EVERY_MS:
            raise UsageError(
                sentence(
                    "every-must-least-ms", "--every must be at least {least_every_ms}", least_every_ms=LEAST_EVERY_MS
                ),
                remedy=sentence("use-instance-every", "use for instance --every 5s"),
            )
        if self.count is not None and self.count < 1:
            raise UsageError(sentence("count-must-least", "--count must be at least 1"))


@dataclass(frozen=True, slots=True)
class Round:
    """One look, or why there was none.

    Attributes:
        is_extra: the time was nearly over, and it may have been cut off.
    """

    number: int
    lag: CurrentLag | None
    error: MqctlError | None = None
    is_extra: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The options that look more than once, as typed."""

    watching: bool
    until: str | None
    every: str
    count: int | None
    limit: str | None


def look_again(target: ClusterTarget, request: LagRequest, again: Again, display: LagDisplay) -> int:
    """Runs `--watch` or `--until`; returns the exit code.

    Raises:
        UsageError: a condition, a pace or a format that cannot be.
        MqctlError: the first look failed.
    """
    condition = parse_condition(again.until) if again.until is not None else None
    output = display.output
    if again.watching and output in (Output.YAML, Output.CSV):
        raise UsageError(
            sentence("lag-watch-no-form", "--watch has no {output} form", output=output),
            remedy=sentence("lag-use-ndjson-line-each", "use -o ndjson: one line for each group and round"),
        )
    if again.watching and display.by is By.QUEUE:
        raise UsageError(
            sentence("lag-watch-shows-groups", "--watch shows groups"),
            remedy=sentence("lag-leave-queue-out-ask", "leave --by queue out, or repeat the command without --watch"),
        )
    pace = LagPace(
        every_ms=parse_span_ms(again.every),
        round_ms=min(target.timeout_ms, DEFAULT_TIMEOUT_MS),
        count=again.count,
        limit_ms=_limit_ms(again, target),
    )
    narrow = replace(request, with_consumers=False)
    with target.open() as cluster:

        def ask(limit_ms: int) -> CurrentLag:
            return live_lag(cluster, Deadline(limit_ms), narrow, now_ms=round(time() * 1000), with_pop=True)

        looks = rounds(ask, pace)
        if again.watching or condition is None:
            return watch(looks, output, condition)
        with step_progress() as report:
            code, last = wait(looks, condition, report)
    if last is not None:
        answer(lag_document(last, narrow, display), last.open_gaps, output, minor=last.side_gaps)
    return code


def _limit_ms(again: Again, target: ClusterTarget) -> int | None:
    if again.limit is not None:
        return target.timeout_ms
    return UNTIL_LIMIT_MS if again.until is not None else None


def rounds(ask: Ask, pace: LagPace) -> Iterator[Round]:
    """Yields rounds at the pace; the first one must succeed, a later one may fail and is tried again.

    The last begins when `_ROOM` times what the one before it took is left: cut off by the limit it would know less, and
    without it the answer would be as old as the pace.

    Raises:
        MqctlError: what the first round raised.
    """
    end = None if pace.limit_ms is None else monotonic() + pace.limit_ms / 1000
    number, is_last = 0, False
    while True:
        number += 1
        began = monotonic()
        limit_ms = pace.round_ms if end is None else max(1, min(pace.round_ms, round((end - began) * 1000)))
        try:
            current = Round(number, ask(limit_ms), is_extra=is_last)
        except (UnreachableError, DeadlineError, NotFoundError) as error:
            if number == 1:
                raise
            current = Round(number, None, error, is_last)
        took = monotonic() - began
        yield current
        if is_last or number == pace.count:
            return
        next_at = began + pace.every_ms / 1000
        if end is not None:
            last_at = end - _ROOM * took
            if last_at <= monotonic():
                return
            is_last = next_at >= last_at
            next_at = min(next_at, last_at)
        sleep(max(0.0, next_at - monotonic()))


def watch(rounds_of_looks: Iterator[Round], output: Output, condition: Condition | None) -> int:
    """Shows every round; ends with them, or when `condition` holds."""
    screen = Screen() if output in (Output.TABLE, Output.WIDE) and is_terminal() else None
    looks: list[LagLook] = []
    code, truth = ExitCode.OK, None
    last: CurrentLag | None = None
    for item in rounds_of_looks:
        last = item.lag
        if item.lag is None:
            tell(
                sentence("round-failed", "mqctl: round {number} failed: {error}", number=item.number, error=item.error)
            )
            code, truth = item.error.exit_code if item.error else ExitCode.OK, None
            continue
        lag = item.lag
        looks = within_window([*looks, look_at(lag.report.observed_at_ms, lag.report.groups, lag.report.queues)])
        document = round_document(lag.report.observed_at_ms, item.number, trends(looks, item.number))
        if screen is not None:
            screen.draw(fitted_lines(document, wide=output is Output.WIDE), gap_lines((*lag.gaps, *lag.minor_gaps)))
            code = exit_code_of(lag.gaps)
        else:
            if item.number > 1 and output in (Output.TABLE, Output.WIDE):
                sys.stdout.write("\n")
            code = answer(document, lag.open_gaps, output, minor=lag.side_gaps)
        if condition is not None:
            truth = judge_condition(condition, lag)
            if truth:
                return ExitCode.OK
    return code if condition is None else missed(condition, truth, last)


def wait(looks: Iterator[Round], condition: Condition, report: Report | None = None) -> tuple[int, CurrentLag | None]:
    """Waits until `condition` holds; returns the exit code and the last look.

    Args:
        report: told after each look how much waits still.
    """
    truth: Truth = None
    last: CurrentLag | None = None
    newest: CurrentLag | None = None
    for item in looks:
        if item.is_extra and (item.lag is None or item.lag.gaps):
            break  # cut off; the look before it was not
        newest = item.lag
        if newest is None:
            truth = None
            continue
        last = newest
        truth = judge_condition(condition, last)
        if truth:
            return ExitCode.OK, last
        if report is not None:
            report(f"look {item.number}: lag {_waiting(last):,}, until {condition.text}", 0, 1)
    return missed(condition, truth, newest), last


def judge_condition(condition: Condition, lag: CurrentLag) -> Truth:
    """Judges one look.

    Raises:
        NotFoundError: the condition names a group that has no offsets, and all who could know were asked.
    """
    pops_complete = not any(gap.part is Part.POP for gap in lag.minor_gaps)
    facts = facts_of(lag.report.queues, complete=not lag.gaps, popping=lag.report.groups, pops_complete=pops_complete)
    for group in sorted(condition.groups - facts.keys()):
        if not lag.gaps:
            raise NotFoundError(
                sentence(
                    "lag-condition-names-group-no",
                    "the condition names group {group}, which has no offsets among those looked at",
                    group=group,
                ),
                remedy=sentence("group-lag-shows-groups", "mqctl group lag shows the groups"),
            )
    return condition.holds(facts)


def missed(condition: Condition, truth: Truth, newest: CurrentLag | None) -> int:
    """Says how the time ended, and returns the exit code.

    Args:
        newest: the last look; None when it failed.
    """
    if truth is None:
        tell(
            sentence(
                "lag-not-known-whether-holds",
                "mqctl: not known whether {condition} holds: {why_unknown}",
                condition=condition.text,
                why_unknown=_why_unknown(newest),
            )
        )
        return ExitCode.UNKNOWN
    waiting = (
        ""
        if newest is None
        else sentence("lag-still-waiting", " (still waiting: {waiting:,})", waiting=_waiting(newest))
    )
    tell(
        sentence(
            "lag-not-reached-time",
            "mqctl: {condition} was not reached in time{waiting}",
            condition=condition.text,
            waiting=waiting,
        )
    )
    return ExitCode.TIMEOUT


def _waiting(lag: CurrentLag) -> int:
    return sum(group.lag_count or 0 for group in lag.report.groups)


def _why_unknown(newest: CurrentLag | None) -> str:
    if newest is None:
        return sentence("lag-last-look-failed", "the last sample failed")
    if newest.gaps:
        return sentence("lag-not-all-asked", "not everything could be asked")
    if not newest.report.queues:
        return sentence("lag-no-group-offsets", "no consumer group has offsets among what was looked at")
    if any(gap.part is Part.POP for gap in newest.minor_gaps):
        return sentence("lag-not-all-popped", "not everything that is popped could be read")
    return sentence(
        "lag-never-committed", "a group never committed in a queue that holds messages, or an age is not known"
    )
