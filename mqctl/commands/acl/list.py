"""`mqctl acl list`: users and what they may do."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, tell
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OnlyBrokersOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.acl.gather import access_of, ask_files
from mqctl.commands.acl.view import access_document
from mqctl.model.remark import on_one_line
from mqctl.text import sentence

EXAMPLES = ("mqctl acl list", "mqctl acl list --user orders-app", "mqctl acl list -o json | jq '.entries[].user'")

_User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only this user.")]


def command(
    user: _User = None,
    broker: OnlyBrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the users of 5.x brokers, their rights and the brokers that have them; passwords are not shown.

    Each broker keeps its own users: rows that name fewer brokers than others show where brokers differ. Accounts of 4.9
    are in files on the broker's machine and cannot be read remotely: only the files are listed, with the time and
    number of their changes by request.
    """
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = access_of(look, broker or ())
        ask_files(look, [item for item in brokers if item.access is None and not item.gaps])
    files = {item.name: item.access_files for item in brokers if item.access_files}
    without = sorted(item.name for item in brokers if item.access is None and item.name not in files and not item.gaps)
    if without:
        tell(sentence("acl-without-users", "mqctl: without users: {without}", without=list(map(on_one_line, without))))
    states = {item.name: item.access for item in brokers if item.access is not None}
    return answer(access_document(states, files, user), broker_gaps(brokers), output)
