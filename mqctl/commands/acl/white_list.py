"""`mqctl acl white-list`: addresses that a 4.9 broker does not check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import WhiteAddressesArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.text import sentence

EXAMPLES = (
    "mqctl acl white-list 10.1.2.3 10.1.3.* --known plain_acl.yml",
    "mqctl acl white-list --nobody --execute --confirm white-list",
)

_Nobody = Annotated[bool, typer.Option("--nobody", help="Empty the list: everybody needs keys.")]
_File = Annotated[
    str | None, typer.Option("--file", metavar="PATH", help="Which of the broker's access files; acl list shows them.")
]
_Known = Annotated[
    Path | None,
    typer.Option("--known", metavar="FILE", help="A copy of the broker's file: undo takes the former list from it."),
]


def command(
    addresses: WhiteAddressesArgument = None,
    nobody: _Nobody = False,
    file: _File = None,
    known: _Known = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan another white list of an access file of 4.9 brokers; with --execute, write it and prove it.

    Requests from these addresses are not checked. A broker with an address that it cannot read does not start again:
    such addresses are refused here. The proof is that the broker counts the change of its file.
    """
    from mqctl.errors import UsageError
    from mqctl.operations.access.files import plan_white_list
    from mqctl.operations.settings.change import run_setting_change

    if bool(addresses) == nobody:
        raise UsageError(
            sentence("acl-addresses-pass-unchecked", "which addresses are to pass unchecked?"),
            remedy=sentence("acl-name-give-nobody", "name them, or give --nobody"),
        )
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_white_list(asking, addresses or (), file, known, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
