"""`mqctl acl put-account`: an account in the access files of 4.9 brokers."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import AccountArgument, PasswordFileOption
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl put-account orders-app --password-file orders.pw --topic orders=PUB --group billing=SUB",
    "mqctl acl put-account ops-account --admin --password-file - --execute --confirm ops-account < ops.pw",
)

_Admin = Annotated[bool, typer.Option("--admin", help="May do everything; without this an admin becomes ordinary.")]
_Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NAME=PERM", help="PUB, SUB, PUB|SUB or DENY for a topic; may be repeated."),
]
_Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=PERM", help="SUB or DENY for a consumer group; may be repeated."),
]
_DefaultTopic = Annotated[
    str | None, typer.Option("--default-topic", metavar="PERM", help="For all other topics; DENY for new accounts.")
]
_DefaultGroup = Annotated[
    str | None, typer.Option("--default-group", metavar="PERM", help="For all other groups; DENY for new accounts.")
]
_White = Annotated[
    str | None, typer.Option("--white-address", metavar="ADDRESS", help="From there it needs no signature.")
]


def command(
    account: AccountArgument,
    admin: _Admin = False,
    topic: _Topics = None,
    group: _Groups = None,
    default_topic: _DefaultTopic = None,
    default_group: _DefaultGroup = None,
    white_address: _White = None,
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
    """Plan an account in the access files of 4.9 brokers, new or changed; with --execute, put it and prove it.

    The secret key is what --password-file has; it is in no plan, no record and no output. A list of topics or groups
    replaces the one the account has; what is not given stays. The proof is that the broker counts the change and takes
    a request signed with these keys; the permissions themselves no request tells.
    """
    from mqctl.cli.terminal.passwords import password_given
    from mqctl.operations.access.files import plan_account
    from mqctl.operations.settings.change import run_setting_change

    secret = password_given(password_file, ask=True) or ""
    given = {
        "admin": "true" if admin else "false",
        "topicPerms": ",".join(topic or ()),
        "groupPerms": ",".join(group or ()),
        "defaultTopicPerm": default_topic,
        "defaultGroupPerm": default_group,
        "whiteRemoteAddress": white_address,
    }
    settings = {name: value for name, value in given.items() if value}
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_account(asking, account, settings, secret, broker or ()),
        execute=execute,
        confirmed=confirm,
        secrets={account: secret},
    )
    emit(document, output)
    return code
