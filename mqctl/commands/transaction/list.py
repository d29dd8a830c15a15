"""`mqctl transaction list`: pending and discarded transactions."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    AtOption,
    BrokersOption,
    LangOption,
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
    "mqctl transaction list --check",
)
RULES = ("MQ72*",)


def command(
    group: Annotated[
        list[str] | None,
        typer.Option("-g", "--group", metavar="GROUP", help="Only of this producer group; may be repeated."),
    ] = None,
    topic: TopicOption = None,
    count: Annotated[int, typer.Option("--count", metavar="COUNT", min=1, help="How many to show.")] = 100,
    check: Annotated[bool, typer.Option("--check", help="Judge as well; ends with the verdict.")] = False,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    at: AtOption = None,
    brokers: BrokersOption = None,
    lang: LangOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List pending transactions, and those that brokers gave up: age, checks, and the producers that could answer.

    `online` counts the producers of the group that are connected to that broker: it asks no others. The second table
    shows the position of each broker's check loop; `op messages behind` is the number that it reads again in each
    round.

    --check judges all transactions, also those that are not listed: pending ones, those that were or soon will be given
    up, and groups without a producer to ask. From a store also those committed without an op message, or twice: that
    needs the complete commit log. It ends with 0 fine, 1 warning, 2 critical, 3 unknown.
    """
    source = TransactionSource(
        store=store,
        snapshot=snapshot,
        at=at,
        deep=check,
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
    if not check:
        return answer(document, transaction_gaps(state), output)
    from mqctl.cli.options.doctor import time_scale_of
    from mqctl.cli.sources.snapshot_source import next_source
    from mqctl.commands.transaction.list_view import with_verdict
    from mqctl.rules import Settings, diagnose

    scale = time_scale_of(None, namesrv=state.origin.location, store=store)
    diagnosis = diagnose(state, only=RULES, settings=Settings(time_scale=scale))
    emit(with_verdict(document, state, diagnosis, source=next_source(state, namesrv, profile)), output)
    return diagnosis.exit_code()
