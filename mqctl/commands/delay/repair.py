"""`mqctl delay repair`: right offsets for a stopped broker, lost messages sent again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    AtOption,
    ConfirmNameOption,
    ExecuteOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
)
from mqctl.errors import UsageError
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.render.document import Document

EXAMPLES = (
    "mqctl delay repair --store /data/store",
    "mqctl delay repair --store /data/store --set 3=17 --execute --confirm store",
    "mqctl delay repair --resend --broker broker-a",
    "mqctl delay repair --resend --store /backup/store --level 3 --from 10 --until 40 --broker broker-a",
)


_Offsets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="LEVEL=OFFSET", help="Set a level to this offset; may be repeated."),
]
_Level = Annotated[list[int] | None, typer.Option("--level", metavar="LEVEL", min=1, help="With --resend: this level.")]
_First = Annotated[
    int | None, typer.Option("--from", metavar="OFFSET", min=0, help="With --resend: from this queue offset.")
]
_Until = Annotated[
    int | None, typer.Option("--until", metavar="OFFSET", min=0, help="With --resend: before this queue offset.")
]
_Broker = Annotated[str | None, typer.Option("--broker", metavar="NAME", help="With --resend: the broker that sends.")]


def command(
    store: OptionalStoreOption = None,
    levels: LevelsOption = None,
    at: AtOption = None,
    offsets: _Offsets = None,
    undo: Annotated[str | None, typer.Option("--undo", metavar="ID", help="Undo a change of the files.")] = None,
    resend: Annotated[bool, typer.Option("--resend", help="Resend messages that no level will deliver.")] = False,
    level: _Level = None,
    first: _First = None,
    until: _Until = None,
    broker: _Broker = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to repair delay levels; with --execute, do it.

    --store repairs the delayOffset.json of a stopped broker: each level goes to its first message without a delivered
    copy, in the file and its backup. It is refused while a broker holds the store's lock; on a slave, the master
    overwrites the file. --resend sends messages again that no level will deliver (those on levels beyond the table, or
    those named) with the rest of their delay, from a live broker or from --store.
    """
    if resend:
        if levels or at or offsets or undo:
            raise UsageError(
                sentence(
                    "delay-levels-set-undo-cannot",
                    "--levels, --at, --set and --undo cannot be combined with --resend",
                ),
                remedy=sentence("leave-out", "leave them out"),
            )
        from mqctl.commands.delay.resend import StrandedRequest
        from mqctl.commands.delay.resend import resend as send_again

        request = StrandedRequest(
            store=store,
            broker=broker,
            levels=tuple(level or ()),
            first=first,
            end=until,
            execute=execute,
            confirmed=confirm,
        )
        document, code = send_again(request, cluster_target(namesrv, profile, timeout))
    else:
        if level or first is not None or until is not None or broker or namesrv or profile:
            raise UsageError(
                sentence(
                    "delay-level-until-broker-cluster", "--level, --from, --until, --broker and a cluster need --resend"
                ),
                remedy=sentence("delay-add-resend", "add --resend"),
            )
        document, code = _files(store, levels, at, offsets, undo, execute=execute, confirmed=confirm)
    emit(document, output)
    return code


def _files(
    store: Path | None,
    levels: str | None,
    at: str | None,
    offsets: list[str] | None,
    undo: str | None,
    *,
    execute: bool,
    confirmed: str | None,
) -> tuple[Document, int]:
    """Repairs the files of a store, or takes that back."""
    from mqctl.changes.steps import delay_repair as delay_repairs

    if undo is not None:
        return delay_repairs.undo(undo, execute=execute, confirmed=confirmed)
    if store is None:
        raise UsageError(
            sentence("delay-nothing-repair-given", "nothing to repair given"),
            remedy=sentence("delay-add-store-dir-resend", "add --store DIR, --resend or --undo ID"),
        )
    pairs = delay_repairs.pairs(offsets or ())
    request = delay_repairs.RepairRequest(
        store=store, levels=levels, at=at, offsets=pairs, execute=execute, confirmed=confirmed
    )
    return delay_repairs.repair(request)
