"""`mqctl producer list`: who is connected to send."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, tell
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import AllOption, NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.producer.view import producer_document
from mqctl.model.gap import Part
from mqctl.snapshot.live.brokers import ask_producers, ask_producers_of, masters_of
from mqctl.snapshot.live.proxies import connected_proxies
from mqctl.text import sentence

EXAMPLES = ("mqctl producer list", "mqctl producer list -g order-producer -o json")


def command(
    group: Annotated[
        list[str] | None,
        typer.Option("-g", "--group", metavar="GROUP", help="Only this producer group; may be repeated."),
    ] = None,
    everything: AllOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the connected producers; brokers before 4.9.4 report only those of the groups that you name."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = masters_of(look.brokers({Part.PRODUCERS}))
        look.ask(ask_producers, brokers, system=everything)
        look.ask(ask_producers_of, brokers, group or ())
        proxies = connected_proxies(look.asking, brokers) if look.asking is not None else ()
    if proxies:
        tell(
            sentence(
                "producers-behind-proxy-not",
                "mqctl: producers behind a proxy are not listed: no proxy tells who they are, and "
                "brokers know the proxy itself ({proxies}) in their place",
                proxies=proxies,
            )
        )
    held = ((broker.name, item) for broker in brokers for item in broker.producers)
    document = producer_document((name, item) for name, item in held if not group or item.group in group)
    return answer(limited(document, output, limit), broker_gaps(brokers), output)
