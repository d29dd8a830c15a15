"""`mqctl acl create-user`: a new user of 5.x brokers."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import PasswordFileOption, TypeOption, UserArgument
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl create-user orders-app --password-file orders.pw",
    "mqctl acl create-user ops --type Super --password-file - --execute < ops.pw",
)


def command(
    user: UserArgument,
    user_type: TypeOption = None,
    password_file: PasswordFileOption = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan a new user on every master of 5.x, or those named; with --execute, make it and read it back.

    The password comes from a file, standard input or the terminal, and is in no plan, no record and no output. A new
    user may do only what brokers do not check; `mqctl acl grant` allows more.
    """
    from mqctl.cli.terminal.passwords import password_given
    from mqctl.commands.acl.plan import plan_user
    from mqctl.operations.settings.change import run_setting_change

    secret = password_given(password_file, ask=True)
    requested = {} if user_type is None else {"user_type": user_type.value}
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_user(asking, user, requested, secret, broker or (), create=True),
        execute=execute,
        confirmed=confirm,
        secrets={} if secret is None else {user: secret},
    )
    emit(document, output)
    return code
