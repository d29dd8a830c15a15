"""Options of the commands about users and their entries."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class UserType(StrEnum):
    """Types of users, as people write them."""

    NORMAL = "Normal"
    SUPER = "Super"


class UserStatus(StrEnum):
    """Whether brokers serve a user."""

    ENABLE = "enable"
    DISABLE = "disable"


class Kind(StrEnum):
    """Whom brokers know: users of 5.3 and later, or accounts in access files."""

    USER = "user"
    ACCOUNT = "account"


KindOption = Annotated[
    Kind | None,
    typer.Option("--kind", help="A user of 5.x brokers or an account of 4.9; needed where brokers of both are."),
]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="Name of the user that clients sign with.")]
TypeOption = Annotated[
    UserType | None, typer.Option("--type", case_sensitive=False, help="Super users may do everything.")
]
StatusOption = Annotated[
    UserStatus | None, typer.Option("--status", case_sensitive=False, help="Disabled users are refused.")
]
PasswordFileOption = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="File whose first line is the password, readable by you alone; - reads standard input.",
    ),
]
AskPasswordOption = Annotated[bool, typer.Option("--ask-password", help="Ask for the new password on the terminal.")]
ResourceOption = Annotated[
    str,
    typer.Option(
        "--resource", metavar="RESOURCE", help="Topic:NAME, Group:NAME, Cluster:NAME or *; NAME may end with *."
    ),
]
OptionalResourceOption = Annotated[
    str | None, typer.Option("--resource", metavar="RESOURCE", help="Only the entries of this resource.")
]
ActionsOption = Annotated[
    list[str],
    typer.Option(
        "--action", metavar="ACTION", help="All, Pub, Sub, Create, Update, Delete, Get or List; may be repeated."
    ),
]
DenyOption = Annotated[bool, typer.Option("--deny", help="Refuse it instead of allowing it.")]
SourcesOption = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="ADDRESS", help="Only from this address, range or network; may be repeated."),
]
DefaultPolicyOption = Annotated[
    bool, typer.Option("--default-policy", help="An entry that counts where no other one fits.")
]
