"""Stacks round after round: what the consume threads do, and for how long already."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic, sleep

from mqctl.cli.emit import Output, tell
from mqctl.cli.gaps import answer, gap_lines
from mqctl.cli.terminal.screen import Screen, is_terminal, plain_lines
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.stacks.gather import StackRequest, StackSource, open_source
from mqctl.commands.stacks.rounds_view import StackWatchRow, stack_round_document
from mqctl.errors import DeadlineError, ExitCode, RefusedError, UnreachableError, UsageError
from mqctl.model.counts import counted
from mqctl.model.gap import exit_code_of
from mqctl.model.stack_look import StackEvidence, StackLook, put_together
from mqctl.snapshot.live.stacks import read_sights
from mqctl.stacks.group import report_threads
from mqctl.text import composed, sentence

LEAST_EVERY_MS = 100
_LEAST_LOOK_MS = 2_000
_Doing = tuple[str, str | None, str, str | None]


def watch_stacks(request: StackRequest, count: int | None, output: Output) -> int:
    """Shows `count` rounds, or rounds until Ctrl-C; returns the exit code.

    Raises:
        UsageError: a format that has no rounds, or rounds too close to each other.
        MqctlError: the first round showed nothing, or what is watched has ended.
    """
    request.check()
    if request.every_ms < LEAST_EVERY_MS:
        raise UsageError(
            sentence("every-must-least-ms", "--every must be at least {least_every_ms}", least_every_ms=LEAST_EVERY_MS),
            remedy=sentence("use-instance-every", "use for instance --every 5s"),
        )
    if output in (Output.YAML, Output.CSV):
        raise UsageError(
            sentence("lag-watch-no-form", "--watch has no {output} form", output=output),
            remedy=sentence("stacks-use-ndjson-line-each", "use -o ndjson: one line for each pool and round"),
        )
    screen = Screen() if output in (Output.TABLE, Output.WIDE) and is_terminal() else None
    since: dict[_Doing, int] = {}
    code = ExitCode.OK
    with open_source(request) as (source, limit_ms):
        for number, looks in _rounds(source, limit_ms, request, count):
            # What could not be seen two rounds ago is no news.
            evidence = replace(put_together(looks), unavailable=looks[-1].unavailable)
            rows = _rows(evidence, since)
            code = exit_code_of(evidence.unavailable)
            document = stack_round_document(evidence.now_ms, number, rows, _said(evidence))
            if number == 1:
                for note in evidence.notes:
                    tell(composed("mqctl: {note}", note=note))
            if screen is not None:
                screen.draw([*plain_lines(document, wide=output is Output.WIDE), *gap_lines(evidence.unavailable)])
                continue
            if number > 1 and output in (Output.TABLE, Output.WIDE):
                sys.stdout.write("\n")
            answer(document, evidence.unavailable, output)
    return code


def _rounds(
    source: StackSource, limit_ms: int, request: StackRequest, count: int | None
) -> Iterator[tuple[int, list[StackLook]]]:
    """Yields the newest looks of each round; a round after the first may fail for want of answers, and is told.

    Raises:
        MqctlError: the first round failed, or what is watched has ended.
    """
    recent: deque[StackLook] = deque(maxlen=max(2, request.dump_count))
    look_ms = min(limit_ms, max(request.every_ms, _LEAST_LOOK_MS))
    number = 0
    while True:
        number += 1
        began = monotonic()
        try:
            if number > 1:
                source.refresh(Deadline(look_ms))
            recent.append(read_sights(source.look(Deadline(limit_ms if number == 1 else look_ms))))
            yield number, list(recent)
        except (UnreachableError, DeadlineError, RefusedError) as error:
            if number == 1:
                raise
            tell(sentence("round-failed", "mqctl: round {number} failed: {error}", number=number, error=error))
        if number == count:
            return
        sleep(max(0.0, began + request.every_ms / 1000 - monotonic()))


def _rows(evidence: StackEvidence, since: dict[_Doing, int]) -> list[StackWatchRow]:
    """Returns what the consume threads do, and keeps in `since` when each of it was first seen without a break."""
    rows = []
    seen: dict[_Doing, int] = {}
    for instance in evidence.instances:
        if not instance.dumps or instance.dumps[-1].taken_at_ms != evidence.now_ms:
            continue  # it did not answer in this round
        for part in report_threads(instance.dumps).consuming():
            line = str(part.line) if part.line else None
            doing = (instance.source, part.group, part.cls, line)
            seen[doing] = since.get(doing, evidence.now_ms)
            rows.append(
                StackWatchRow(
                    source=instance.source,
                    group=part.group or instance.group,
                    thread_count=part.count,
                    cls=part.cls,
                    motion=part.motion,
                    cpu_share=part.cpu_share,
                    line=line,
                    same_ms=evidence.now_ms - seen[doing],
                    consume_mode=instance.consume_mode,
                )
            )
    since.clear()
    since.update(seen)
    return rows


def _said(evidence: StackEvidence) -> str:
    waiting = [row.lag_count for row in evidence.lags if row.lag_count is not None]
    behind = counted(sum(waiting), "message")
    pauses = [item.dumps[-1].pause_ms for item in evidence.instances if item.dumps]
    known = [pause for pause in pauses if pause is not None]
    if waiting and known:
        return sentence(
            "stacks-waiting-stood-still-ms",
            "  {behind} waiting, stood still {pause_ms} for it",
            behind=behind,
            pause_ms=max(known),
        )
    if waiting:
        return sentence("stacks-waiting", "  {behind} waiting", behind=behind)
    return sentence("stacks-stood-still-ms", "  stood still {pause_ms} for it", pause_ms=max(known)) if known else ""
