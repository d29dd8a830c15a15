"""`mqctl top`: brokers, groups and topics, live."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from mqctl.cli.connection.target import DEFAULT_TIMEOUT_MS, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, note
from mqctl.cli.options.common import GroupOption, NoColorOption, OnlyBrokersOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption, most_of
from mqctl.cli.terminal.screen import is_terminal
from mqctl.cli.times import parse_span_ms
from mqctl.commands.top.view import Sort
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl top",
    "mqctl top -g order-service --every 5s",
    "mqctl top --once",
    "mqctl top --plain",
    "mqctl top -o ndjson --every 10s >> top.ndjson",
)
_LEAST_EVERY_MS = 100
_ROWS = 40  # of groups, and as many of topics: two screens
_ASKED_GROUPS = 40

_Sort = Annotated[Sort, typer.Option("--sort", help="Order of the groups.", show_choices=True)]
_OwnersEvery = Annotated[
    str, typer.Option("--owners-every", metavar="SPAN", help="Time between questions who holds the queues.")
]
_Recording = Annotated[
    str | None,
    typer.Option(
        "--recording", metavar="DIR", help="Draw the last minutes from it; else from a recorder that you run."
    ),
]


def command(
    context: typer.Context,
    group: GroupOption = None,
    topic: TopicOption = None,
    broker: OnlyBrokersOption = None,
    sort: _Sort = Sort.TIME,
    every: Annotated[str, typer.Option("--every", metavar="SPAN", help="Time between looks.")] = "2s",
    owners_every: _OwnersEvery = "10s",
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="Stop after this many frames.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Look twice, --every apart, and print one frame.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="One frame over the other, without pages to open.")] = False,
    recording: _Recording = None,
    limit: LimitOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show brokers, groups and topics as they change: rates, lag and its trend, queues that change owners.

    On a terminal it is a screen to browse: Enter opens a row, from brokers to topics, groups, queues and messages; Esc
    goes back, ? lists the keys. It needs the extra `screen` (`pip install 'mqctl[screen]'`). Without it, with --plain,
    --count or on a poor terminal, frames replace each other: q quits, t l i o m n sort, s takes the next order, p
    pauses. In a pipe frames follow each other, with -o ndjson one a line. Rates of groups and topics span 15 s. Queue
    owners are read for the first 40 groups in the chosen order. --timeout limits one sample.
    """
    every_ms = _refuse(every, output)
    if recording is not None and (plain or once or count is not None or output is not Output.TABLE):
        raise UsageError(
            sentence("recording-is-for-screen", "--recording is for the screen"),
            remedy=sentence("top-leave-plain-count-once", "leave --plain, --count, --once and -o out"),
        )
    from mqctl.commands.top.answers import runner
    from mqctl.commands.top.frames import TopFrames
    from mqctl.commands.top.screen import FramePace, print_frames, show_frames
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.top import TopGatherer

    target = cluster_target(namesrv, profile, timeout)
    round_ms = min(target.timeout_ms, DEFAULT_TIMEOUT_MS)
    pace = FramePace(every_ms=every_ms, round_ms=round_ms, count=count, rows=most_of(limit, _ROWS))
    with target.open() as cluster:
        looked_at = Scope(groups=frozenset(group or ()), topics=frozenset(topic or ()), brokers=frozenset(broker or ()))
        gatherer = TopGatherer(cluster, looked_at)
        frames = TopFrames(gatherer, shown=_ASKED_GROUPS, owners_every_ms=parse_span_ms(owners_every))
        if once or output is not Output.TABLE or not (is_terminal() and sys.stdin.isatty()):
            return print_frames(frames, pace, sort, output, once=once)
        if plain or count is not None or not sys.stderr.isatty() or not _has_screen():
            return show_frames(frames, pace, sort)
        from mqctl.commands.top.past import recall_from
        from mqctl.commands.top.walk import WalkRequest, walk_through

        options = {"-g": group, "-t": topic, "--broker": broker}
        scope = [(option, name) for option, names in options.items() for name in names or ()]
        run, recall = runner(context), recall_from(cluster, recording)
        return walk_through(
            frames, WalkRequest(target=target, run=run, pace=pace, sort=sort, recall=recall, scope=scope)
        )


def _refuse(every: str, output: Output) -> int:
    """Returns the time between looks. Raises UsageError for what cannot be."""
    every_ms = parse_span_ms(every)
    if every_ms < _LEAST_EVERY_MS:
        raise UsageError(
            sentence(
                "every-must-least-ms", "--every must be at least {least_every_ms}", least_every_ms=_LEAST_EVERY_MS
            ),
            remedy=sentence("top-use-instance-every", "use for instance --every 2s"),
        )
    if output in (Output.YAML, Output.CSV):
        raise UsageError(
            sentence("top-no-form", "top has no {output} form", output=output),
            remedy=sentence("top-use-ndjson-frame-line", "use -o ndjson: one frame a line"),
        )
    return every_ms


def _has_screen() -> bool:
    """Tells whether the extra is there; says how to get it where it is not."""
    if find_spec("textual") is not None:
        return True
    note(
        sentence(
            "screen-walk-through-needs-textual-pip",
            "the screen to walk through needs Textual: pip install 'mqctl[screen]'; this is the plain form (--plain)",
        )
    )
    return False
