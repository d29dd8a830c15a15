"""`mqctl acl explain`: whether a user may do something, and by which entry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.access import ResourceOption, UserArgument
from mqctl.cli.options.common import NoColorOption, OnlyBrokersOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.acl.gather import access_of, ask_listed, decisions_of
from mqctl.commands.acl.view import explanation_document
from mqctl.model.gap import Part

EXAMPLES = (
    "mqctl acl explain orders-app --resource Topic:orders --action Pub",
    "mqctl acl explain orders-app --resource Group:billing --action Sub --from 10.1.2.3",
    "mqctl acl explain orders-app --resource Group:billing --action Sub --acl-rules plain_acl.yml",
)

_Action = Annotated[str, typer.Option("--action", metavar="ACTION", help="Pub, Sub, Create, Update, Delete or Get.")]
_Rules = Annotated[
    Path | None, typer.Option("--acl-rules", metavar="FILE", help="A copy of the plain_acl.yml of 4.9 brokers.")
]
_From = Annotated[str, typer.Option("--from", metavar="ADDRESS", help="Where the request comes from.")]


def command(
    user: UserArgument,
    resource: ResourceOption,
    action: _Action,
    address: _From = "127.0.0.1",
    acl_rules: _Rules = None,
    broker: OnlyBrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show whether a user may do something to a resource, on each broker, and which entry decides.

    Applies the rules of 5.3.3 to what the brokers have now; of 4.9.8 to the access list, which is read on the broker's
    host or from a copy: a consumer needs Sub on its topic and on its group. No broker of 5.x checks who creates groups
    or changes broker configuration.
    """
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = access_of(look, broker or ())
        ask_listed(look, [item for item in brokers if item.access is None and not item.gaps], acl_rules)
        unproven = look.unproven(brokers, Part.ACCESS)
    decisions = decisions_of(brokers, user, (resource, action, address))
    document = explanation_document((user, action, resource, address), decisions)
    return answer(document, [*broker_gaps(brokers), *unproven], output)
