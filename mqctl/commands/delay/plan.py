"""`mqctl delay plan`: the cheapest chain of delay levels to a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, note
from mqctl.cli.options.common import BrokersOption, LevelsOption, NoColorOption, OutputOption
from mqctl.errors import UsageError
from mqctl.model.delay_chain import cheapest_chain
from mqctl.model.delay_level import DelayLevelTable
from mqctl.text import sentence

EXAMPLES = (
    "mqctl delay plan --at 'tomorrow 08:00'",
    "mqctl delay plan --at +100min --levels '1s 5s 10s 30s 1m 10m 1h' -o json",
)


def command(
    at: Annotated[str, typer.Option("--at", metavar="TIME", help="When consumers shall see the message.")],
    levels: LevelsOption = None,
    brokers: BrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Compute the shortest chain of delay levels that ends at a moment, never later.

    The levels are those of the live brokers, or of --levels, which asks no broker. `mqctl delay relay` sends messages
    of `mqctl message send --deliver-at` along such chains; 5.x brokers with timers do not need one.
    """
    from mqctl.cli.times import parse_instant
    from mqctl.commands.delay.plan_view import MOST_HOPS, SHOWN_HOPS, chain_document
    from mqctl.model.counts import counted

    now = datetime.now().astimezone()
    moment, now_ms = parse_instant(at, now, ahead=True), round(now.timestamp() * 1000)
    if moment.epoch_ms < now_ms:
        raise UsageError(
            sentence("delay-past", "{moment} is past", moment=moment.text),
            remedy=sentence("delay-name-moment-come-instance", "name a moment to come, for instance --at +2h"),
        )
    native = None
    if levels is not None:
        table = DelayLevelTable.parse(levels)
        if table.bad_item is not None:
            raise UsageError(
                sentence("cannot-read-delay-levels", "cannot read the delay levels {levels!r}", levels=levels),
                reason=sentence("not-delay", "{bad_item!r} is not a delay", bad_item=table.bad_item),
            )
    else:
        from mqctl.cli.sources.brokers import asking_of
        from mqctl.cli.sources.delay_ways import delay_ways

        target = cluster_target(namesrv, profile, timeout)
        with target.open() as cluster:
            ways = delay_ways(asking_of(cluster, target), tuple(brokers or ()))
        table, levels = ways.table, ways.levels
        native = ways.timer_reach_ms is not None and moment.epoch_ms - now_ms <= ways.timer_reach_ms
    chain = cheapest_chain(table, moment.epoch_ms - now_ms)
    document = chain_document(
        chain, levels=levels, table=table, now_ms=now_ms, deliver_ms=moment.epoch_ms, native_timer=native
    )
    listed = SHOWN_HOPS if output in (Output.TABLE, Output.WIDE) else MOST_HOPS
    if chain.hop_count > listed:
        more = (
            sentence("delay-json-lists", "; -o json lists up to {most:,}", most=MOST_HOPS) if listed < MOST_HOPS else ""
        )
        note(
            sentence(
                "delay-first-listed",
                "the first {listed} of {hop_count:,} are listed{more}",
                listed=counted(listed, "hop"),
                hop_count=chain.hop_count,
                more=more,
            )
        )
    emit(document, output)
