"""`mqctl delay levels`: the delay level table, and what waits on each level."""

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
from mqctl.commands.delay.view import levels_document

EXAMPLES = (
    "mqctl delay levels",
    "mqctl delay levels --broker broker-a -o json",
    "mqctl delay levels --store /backup/store",
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
    """Show the delay levels: their delays, the next offset to deliver, messages that wait, and those that are overdue.

    Messages that wait are not due yet. Overdue messages were due more than 2 s ago and have no delivered copy. The
    table is the broker's own messageDelayLevel; a store does not contain it, so pass --levels if it was changed. A
    level beyond the table has no delay: its messages are never delivered.
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
    return answer(levels_document(state), gaps, output)
