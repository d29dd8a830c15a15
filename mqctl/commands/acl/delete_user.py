"""`mqctl acl delete-user`: a user gone, with all entries."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import UserArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl delete-user orders-app",
    "mqctl acl delete-user orders-app --execute --confirm orders-app",
)


def command(
    user: UserArgument,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete a user with its entries; with --execute, delete it and check that it is gone.

    Its clients are refused from then on. The password is not recorded: to undo, create the user again with a password
    first.
    """
    from mqctl.commands.acl.plan import plan_user_deletion
    from mqctl.operations.settings.change import run_setting_change

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_user_deletion(asking, user, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
