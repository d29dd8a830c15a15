"""`mqctl acl put`: a user of 5.x brokers, an account of 4.9, or the white list of 4.9, new or changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import (
    AskPasswordOption,
    Kind,
    KindOption,
    PasswordFileOption,
    StatusOption,
    TypeOption,
    UserStatus,
    UserType,
)
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.errors import UsageError
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.setting_plan import SettingPlan
    from mqctl.snapshot.live.asking import Asking

EXAMPLES = (
    "mqctl acl put orders-app --new --password-file orders.pw",
    "mqctl acl put orders-app --status disable --execute --confirm orders-app",
    "mqctl acl put billing-app --password-file billing.pw --topic orders=SUB --group billing=SUB",
    "mqctl acl put --white-list 10.1.2.3 10.1.3.* --known plain_acl.yml",
)

_Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME", help="Name of the user or account that clients sign with; with --white-list, addresses."
    ),
]
_New = Annotated[bool, typer.Option("--new", help="Only create a user; refuse if it exists.")]
_Existing = Annotated[bool, typer.Option("--existing", help="A user: change it where it is, make none.")]
_Admin = Annotated[bool, typer.Option("--admin", help="An account: may do everything; without this it is ordinary.")]
_Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NAME=PERM", help="An account: PUB, SUB, PUB|SUB or DENY for a topic; repeat."),
]
_Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=PERM", help="An account: SUB or DENY for a consumer group; repeat."),
]
_DefaultTopic = Annotated[
    str | None,
    typer.Option("--default-topic", metavar="PERM", help="An account: for all other topics; DENY for new ones."),
]
_DefaultGroup = Annotated[
    str | None,
    typer.Option("--default-group", metavar="PERM", help="An account: for all other groups; DENY for new ones."),
]
_White = Annotated[
    str | None, typer.Option("--white-address", metavar="ADDRESS", help="An account: needs no signature from there.")
]
_WhiteList = Annotated[
    bool, typer.Option("--white-list", help="Which addresses 4.9 brokers do not check: 10.1.2.3, 10.1.2.1-9, 10.1.*.*.")
]
_Nobody = Annotated[bool, typer.Option("--nobody", help="Empty the white list: every client must sign.")]
_File = Annotated[
    str | None, typer.Option("--file", metavar="PATH", help="Which of the broker's access files; acl list shows them.")
]
_Known = Annotated[
    Path | None,
    typer.Option("--known", metavar="FILE", help="A copy of the broker's file: undo takes the former list from it."),
]


def command(
    names: _Names = None,
    user_type: TypeOption = None,
    status: StatusOption = None,
    new: _New = False,
    existing: _Existing = False,
    admin: _Admin = False,
    topic: _Topics = None,
    group: _Groups = None,
    default_topic: _DefaultTopic = None,
    default_group: _DefaultGroup = None,
    white_address: _White = None,
    white_list: _WhiteList = False,
    nobody: _Nobody = False,
    file: _File = None,
    known: _Known = None,
    password_file: PasswordFileOption = None,
    ask_password: AskPasswordOption = False,
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
    """Plan to add or change a user of 5.x brokers or an account of 4.9; with --execute, do it and verify it.

    The brokers decide which of both it is. The password (of an account: the secret key) comes from a file, standard
    input or the terminal, and is never written to a plan, a record or the output. Settings that are not given stay. A
    new user has no rights until `mqctl acl grant` gives them. An account needs its key each time, and a given list of
    topics or groups replaces the old one; it is verified by a request that is signed with its keys.

    With --white-list it plans the white list of an access file: requests from these addresses are not checked.
    """
    from mqctl.changes.settings.access_files import plan_account
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.cli.terminal.passwords import password_given
    from mqctl.commands.acl.gather import named_on
    from mqctl.commands.acl.plan import plan_user

    target = cluster_target(namesrv, profile, timeout)
    only: Sequence[str] = broker or ()
    of_user = {"--type": user_type, "--status": status, "--new": new, "--existing": existing}
    of_account = {
        "--admin": admin,
        "--topic": topic,
        "--group": group,
        "--default-topic": default_topic,
        "--default-group": default_group,
        "--white-address": white_address,
    }
    secrets: dict[str, str] = {}
    make: Callable[[Asking], SettingPlan]
    if white_list:
        _refuse({**of_user, **of_account}, sentence("acl-white-list-addresses", "a white list has addresses only"))
        make = _white_list(names or (), file, known, only, nobody=nobody)
    else:
        of_list = {"--nobody": nobody, "--file": file, "--known": known}
        _refuse(of_list, sentence("acl-of-white-list", "only a white list has it: add --white-list"))
        name, kind, only = named_on(target, names or (), kind, only)
        if kind is Kind.USER:
            _refuse(of_account, sentence("acl-of-account", "only accounts of 4.9 have it; these brokers have users"))
        else:
            _refuse(of_user, sentence("acl-of-user", "only users of 5.x have it; these brokers have accounts"))
        secret = password_given(password_file, ask=ask_password or new or kind is Kind.ACCOUNT)
        secrets = {} if secret is None else {name: secret}
        if kind is Kind.USER:
            wanted = _user_settings(user_type, status)
            user = partial(plan_user, user=name, requested=wanted, secret=secret, brokers=only)
            make = partial(user, new=new, existing=existing)
        else:
            settings = _account_settings(topic, group, default_topic, default_group, white_address, admin=admin)
            make = partial(plan_account, access_key=name, settings=settings, secret=secret or "", brokers=only)
    document, code = run_setting_change(target, make, execute=execute, confirmed=confirm, secrets=secrets)
    emit(document, output)
    return code


def _white_list(
    addresses: Sequence[str], file: str | None, known: Path | None, brokers: Sequence[str], *, nobody: bool
) -> Callable[[Asking], SettingPlan]:
    """Returns what plans another white list. Raises UsageError when it is not said which."""
    from mqctl.changes.settings.access_files import plan_white_list

    if bool(addresses) == nobody:
        raise UsageError(
            sentence("acl-addresses-pass-unchecked", "which addresses are to pass unchecked?"),
            remedy=sentence("acl-name-give-nobody", "name them, or give --nobody"),
        )
    return partial(plan_white_list, addresses=addresses, path=file, known=known, brokers=brokers)


def _user_settings(user_type: UserType | None, status: UserStatus | None) -> dict[str, str]:
    given = {"user_type": user_type and user_type.value, "user_status": status and status.value}
    return {setting: value for setting, value in given.items() if value}


def _account_settings(
    topics: Sequence[str] | None,
    groups: Sequence[str] | None,
    default_topic: str | None,
    default_group: str | None,
    white_address: str | None,
    *,
    admin: bool,
) -> dict[str, str]:
    listed = {
        "admin": "true" if admin else "false",
        "topicPerms": ",".join(topics or ()),
        "groupPerms": ",".join(groups or ()),
        "defaultTopicPerm": default_topic,
        "defaultGroupPerm": default_group,
        "whiteRemoteAddress": white_address,
    }
    return {setting: value for setting, value in listed.items() if value}


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Passes when none of these options was given. Raises UsageError."""
    if options := [option for option, value in given.items() if value]:
        raise UsageError(
            sentence("acl-options-not-here", "{options} cannot be given here", options=options), reason=reason
        )
