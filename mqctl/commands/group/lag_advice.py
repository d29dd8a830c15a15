"""`group lag --advise`: two looks at a live cluster, or a snapshot that holds two, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.text import sentence

if TYPE_CHECKING:  # who asks for no advice does not wait for it
    from mqctl.cli.sources.snapshot_source import LiveOptions
    from mqctl.lag.advice import BacklogAdvice
    from mqctl.model.snapshot import ClusterSnapshot

AdviseOption = Annotated[
    bool,
    typer.Option("--advise", help="Look twice and say when backlogs end, what bounds them, what would help."),
]
WindowOption = Annotated[
    str | None, typer.Option("--window", metavar="SPAN", help="With --advise: time between the two samples.")
]
DEFAULT_WINDOW = "10s"
_EVIDENCE = frozenset({Part.QUEUES, Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.RUNNING_INFO})


def advised(live: LiveOptions, snapshot: Path | None, window: str | None, output: Output, *, wanted: bool) -> int:
    """Prints advice for the groups and topics in question and returns the exit code of a read command.

    Args:
        live: the cluster, and whom to advise; of a snapshot the latter only.
        wanted: whether advice was asked for, of a source that can be looked at twice.

    Raises:
        UsageError: it was not, or the window is none.
        NotFoundError: a group that was asked for has no offsets anywhere.
    """
    from mqctl.cli.gaps import tell_gaps
    from mqctl.cli.options.doctor import time_scale_of
    from mqctl.cli.sources.brokers import unregistered_gaps
    from mqctl.cli.sources.snapshot_source import read_snapshot
    from mqctl.cli.times import parse_span_ms
    from mqctl.commands.group.advice_view import advice_document
    from mqctl.lag.advice import backlog_advice
    from mqctl.model.member import broadcasting_groups
    from mqctl.model.thresholds import Settings
    from mqctl.rules.engine.causes import knows_members

    if not wanted:
        raise UsageError(
            sentence(
                "lag-window-needs-advise",
                "--window needs --advise, and --advise needs a live cluster or a snapshot",
            ),
            reason=sentence("lag-rates-need-two-looks", "rates need two samples, and a store directory is only one"),
        )
    of_file = snapshot is not None and window is None  # it has the looks that were saved with it
    window_ms = 0 if of_file else parse_span_ms(window or DEFAULT_WINDOW)
    if window_ms <= 0 and not of_file:
        raise UsageError(
            sentence("lag-window-must-greater", "--window must be greater than 0"),
            remedy=sentence("lag-use-instance-window", "use for instance --window 10s"),
        )
    live = replace(live, window_ms=window_ms)
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    settings = Settings(time_scale=time_scale_of(None, namesrv=state.origin.location))
    advices = [
        advice
        for advice in backlog_advice(state, settings)
        if (not live.groups or advice.group in live.groups) and (not live.topics or advice.topic in live.topics)
    ]
    gaps = [
        gap
        for unanswered in (state.unavailable, *(broker.unavailable for broker in state.brokers))
        for gap in unanswered
        if gap.part in _EVIDENCE
    ] + unregistered_gaps(state, Part.QUEUES)
    local = broadcasting_groups(entry for broker in state.brokers for entry in broker.memberships)
    local = {group for group in local if not live.groups or group in live.groups}
    if not gaps:
        _require_groups(state, live, {advice.group for advice in advices} | local)
    for group in sorted(local) if live.groups else ():
        tell(
            sentence(
                "lag-advice-broadcasting",
                "mqctl: {group}: its members broadcast and keep their offsets themselves; those at brokers are of an "
                "earlier life",
                group=group,
            )
        )
    advices, key_gaps = (advices, []) if snapshot is not None else _with_keys(live, state, advices)
    moment_ms = state.origin.observed_at_ms
    seen_ms = moment_ms - state.earlier.origin.observed_at_ms if state.earlier else 0
    document = advice_document(
        moment_ms, seen_ms, advices, detail=bool(live.groups), members_known=knows_members(state)
    )
    emit(document.with_gaps(gaps), output)
    return tell_gaps([*gaps, *key_gaps])


def _require_groups(state: ClusterSnapshot, options: LiveOptions, advised_groups: set[str]) -> None:
    """Raises NotFoundError for a group that was asked for and of which no offset is known."""
    from mqctl.cli.sources.named import require_group

    for group in options.groups or ():
        if group not in advised_groups:
            require_group(state, group, options)
            raise NotFoundError(
                sentence("lag-group-no-offsets", "group {group} has no committed offsets there", group=group),
                reason=sentence(
                    "lag-never-committed-no-member",
                    "it never committed one, and no member holds a queue: how far it is behind depends "
                    "on where its first member begins",
                ),
                remedy=command_line("mqctl offset reset -g {} -t TOPIC --to-latest", group),
            )


def _with_keys(
    live: LiveOptions, state: ClusterSnapshot, advices: list[BacklogAdvice]
) -> tuple[list[BacklogAdvice], list[Gap]]:
    """Reads the keys of what waits for orderly groups of a live cluster; returns the advices and what was not read."""
    from mqctl.cli.connection.target import cluster_target
    from mqctl.commands.group.advice_keys import with_keys

    if not any(item.what == "keys" for advice in advices for item in advice.remedies):
        return advices, []
    return with_keys(cluster_target(live.namesrv, live.profile, live.timeout), state, advices)
