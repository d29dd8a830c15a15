"""`mqctl broker list`: every broker process with its rates."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.model.gap import Part
from mqctl.render.brokers import broker_document, broker_rows, missing_row
from mqctl.snapshot.live.brokers import ask_runtime

EXAMPLES = ("mqctl broker list", "mqctl broker list -o wide", "mqctl broker list -o json | jq '.brokers[].address'")


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List every broker process: address, version, rates, disk.

    One that does not answer, or ought to be registered and is not, is listed with the reason.
    """
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME})
        look.ask(ask_runtime, brokers)
        missing = look.missing([broker.address for broker in brokers])
    return answer(broker_document([*broker_rows(brokers), *map(missing_row, missing)]), broker_gaps(brokers), output)
