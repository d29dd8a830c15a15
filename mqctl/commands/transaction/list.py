"""`mqctl transaction list`: pending and discarded transactions."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    AtOption,
    BrokersOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
    TopicOption,
)
from mqctl.commands.transaction.gather import TransactionSource, read_transactions, transaction_gaps
from mqctl.commands.transaction.view import list_document, loop_rows, transaction_rows

EXAMPLES = (
    "mqctl transaction list",
    "mqctl transaction list -g order-producer -t orders -o json",
    "mqctl transaction list --store /backup/store",
)


def command(
    group: Annotated[
        list[str] | None,
        typer.Option("-g", "--group", metavar="GROUP", help="Only of this producer group; may be repeated."),
    ] = None,
    topic: TopicOption = None,
    count: Annotated[int, typer.Option("--count", metavar="COUNT", min=1, help="How many to show.")] = 100,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    at: AtOption = None,
    brokers: BrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List pending transactions, and those that brokers gave up on: age, checks, and who could answer.

    Online counts the producers of the group that are connected to that broker: it asks no others. The second table
    shows how far each broker's check loop has got; `op messages behind` is what it reads again in each round.
    """
    source = TransactionSource(
        store=store,
        snapshot=snapshot,
        at=at,
        brokers=tuple(brokers or ()),
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
    )
    state = read_transactions(source)
    rows = [
        row
        for row in transaction_rows(state)
        if (not group or row.producer_group in group) and (not topic or row.topic in topic)
    ]
    scoped, left_out = bool(group or topic), max(0, len(rows) - count)
    document = list_document(rows[:count], loop_rows(state), left_out=left_out, scoped=scoped)
    return answer(document, transaction_gaps(state), output)
