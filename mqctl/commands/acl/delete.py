"""`mqctl acl delete`: a user of 5.x brokers gone with all entries, or an account of 4.9."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import Kind, KindOption
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = ("mqctl acl delete orders-app", "mqctl acl delete orders-app --execute --confirm orders-app")


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the user or account that clients sign with.")],
    kind: KindOption = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete a user of 5.x brokers with its entries, or an account of 4.9; with --execute, delete and prove it.

    Which of both it is, brokers say. Its clients are refused from then on. No password is recorded: to undo, create the
    user again with a password first. Nothing of an account can be read from a broker, so that undo cannot bring it
    back: keep a copy of the file. A request with its key is sent to see that it is refused.
    """
    from mqctl.changes.settings.access_files import plan_account_deletion
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.acl.gather import named_on
    from mqctl.commands.acl.plan import plan_user_deletion

    target = cluster_target(namesrv, profile, timeout)
    _, kind, only = named_on(target, [name], kind, broker or ())
    make = (
        partial(plan_user_deletion, user=name, brokers=only)
        if kind is Kind.USER
        else partial(plan_account_deletion, access_key=name, brokers=only)
    )
    document, code = run_setting_change(target, make, execute=execute, confirmed=confirm)
    emit(document, output)
    return code
