"""`mqctl acl update-user`: type, status or password of a user."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import AskPasswordOption, PasswordFileOption, StatusOption, TypeOption, UserArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl update-user orders-app --status disable",
    "mqctl acl update-user orders-app --password-file new.pw --execute --confirm orders-app",
)


def command(
    user: UserArgument,
    user_type: TypeOption = None,
    status: StatusOption = None,
    password_file: PasswordFileOption = None,
    ask_password: AskPasswordOption = False,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan another type, status or password of a user; with --execute, change and read back.

    What is not given stays. `mqctl undo` brings type and status back, but no password: none is ever recorded.
    """
    from mqctl.cli.terminal.passwords import password_given
    from mqctl.commands.acl.plan import plan_user
    from mqctl.operations.settings.change import run_setting_change

    secret = password_given(password_file, ask=ask_password)
    given = {"user_type": user_type and user_type.value, "user_status": status and status.value}
    requested = {name: value for name, value in given.items() if value}
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_user(asking, user, requested, secret, broker or (), create=False),
        execute=execute,
        confirmed=confirm,
        secrets={} if secret is None else {user: secret},
    )
    emit(document, output)
    return code
