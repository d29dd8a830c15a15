"""`mqctl acl delete-account`: an account gone from the access files of 4.9 brokers."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import AccountArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl delete-account orders-app",
    "mqctl acl delete-account orders-app --execute --confirm orders-app",
)


def command(
    account: AccountArgument,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete an account from the access files of 4.9 brokers; with --execute, delete it and prove it.

    Its clients are refused from then on: a request with its key is sent to see that. Keep a copy of the file: neither
    secret key nor permissions can be read from a broker, so that undo cannot bring them back.
    """
    from mqctl.operations.access.files import plan_account_deletion
    from mqctl.operations.settings.change import run_setting_change

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_account_deletion(asking, account, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
