"""Options that several commands share, each declared once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output


def _forget_colour(value: bool) -> bool:  # noqa: FBT001 - the signature is typer's
    if value:
        os.environ["NO_COLOR"] = "1"
    return value


OutputOption = Annotated[
    Output, typer.Option("-o", "--output", help="Format of the answer on stdout.", show_choices=True)
]
NoColorOption = Annotated[
    bool, typer.Option("--no-color", help="No colours, whatever the terminal.", callback=_forget_colour)
]
StoreOption = Annotated[
    Path, typer.Option("--store", metavar="DIR", help="A broker's store directory (or a copy of one); only read.")
]
OptionalStoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="A broker's store directory (or a copy of one); only read."),
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="Judge as of this time: ISO, epoch milliseconds, `now`, `-2h`, `yesterday 10:00`. "
        "Default: the store's own last instant.",
    ),
]
GroupOption = Annotated[
    list[str] | None, typer.Option("-g", "--group", metavar="GROUP", help="Only this consumer group; may be repeated.")
]
TopicOption = Annotated[
    list[str] | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Only this topic; may be repeated.")
]
AllOption = Annotated[bool, typer.Option("--all", help="System topics and groups too.")]
LevelsOption = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="TEXT",
        help="The broker's messageDelayLevel, when it is not the default `1s 5s 10s ... 2h`.",
    ),
]
BrokerNameOption = Annotated[
    str | None, typer.Option("--broker-name", metavar="NAME", help="Name of the broker the store belongs to.")
]
