"""`mqctl ha status`: what slaves really have."""

from __future__ import annotations

from time import time
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.ha.gather import controller_rows, replica_rows, wanted_times
from mqctl.commands.ha.status_view import status_document
from mqctl.model.gap import Part
from mqctl.snapshot.live.brokers import ask_runtime, ask_settings
from mqctl.snapshot.live.replication import ask_replication, missing_since

EXAMPLES = (
    "mqctl ha status",
    "mqctl ha status broker-a -o wide",
    "mqctl ha status -o json | jq '.replicas[] | select(.behind_bytes > 1000000)'",
)


def command(
    broker: Annotated[str | None, typer.Argument(metavar="[BROKER]", help="Name of a broker; default: all.")] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how much of their masters' logs slaves really have, in bytes and in time, and what is wrong.

    Compares the ends of the logs. A slave that is registered, and that its master calls in sync, may still be behind.
    """
    now_ms = round(time() * 1000)
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME, Part.CONFIG}, [broker] if broker else [])
        look.ask(ask_runtime, brokers)
        look.ask(ask_settings, brokers)
        look.ask(ask_replication, brokers)
        shown = [item.snapshot() for item in brokers]
        unproven = look.unproven(brokers, Part.REPLICATION)
        if look.asking is not None:
            from mqctl.cli.connection.seen_brokers import tell_gone_processes

            tell_gone_processes(look.asking.cluster, look.asking.cluster.brokers(look.asking.deadline))
        since_ms = missing_since(look.asking, wanted_times(shown)) if look.asking is not None else {}
    document = status_document(replica_rows(shown, since_ms, now_ms), controller_rows(shown))
    return answer(document, [*broker_gaps(brokers), *unproven], output)
