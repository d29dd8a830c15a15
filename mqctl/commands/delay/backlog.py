"""`mqctl delay backlog`: what waits on each delay level."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    AtOption,
    BrokersOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
)
from mqctl.commands.delay.gather import DelaySource, delay_gaps, read_delay
from mqctl.commands.delay.view import backlog_document

EXAMPLES = (
    "mqctl delay backlog",
    "mqctl delay backlog --broker broker-a -o json",
    "mqctl delay backlog --store /backup/store",
)


def command(
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    levels: LevelsOption = None,
    at: AtOption = None,
    brokers: BrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what waits on each delay level: how much, how much of it is overdue, by how long, and what is due next.

    A backlog is no fault by itself: it holds what is not due yet. Overdue is what was due more than 2 s ago and has no
    delivered copy.
    """
    source = DelaySource(
        store=store,
        snapshot=snapshot,
        at=at,
        levels=levels,
        brokers=tuple(brokers or ()),
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
    )
    state = read_delay(source)
    gaps = delay_gaps(state)
    return answer(backlog_document(state), gaps, output)
