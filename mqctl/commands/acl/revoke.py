"""`mqctl acl revoke`: entries of a user gone."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import OptionalResourceOption, UserArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl revoke orders-app --resource Topic:orders",
    "mqctl acl revoke orders-app --execute --confirm orders-app",
)


def command(
    user: UserArgument,
    resource: OptionalResourceOption = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete what a user may do with a resource, or all its entries; with --execute, delete them and check."""
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.acl.plan import plan_revoke

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_revoke(asking, user, resource, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
