"""Options that several commands share, each declared once."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, tell
from mqctl.cli.language import ask_for
from mqctl.model.body_form import BodyForm
from mqctl.model.lang import Lang
from mqctl.text import sentence


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
        "Default: the last instant that the store, or the recording, has.",
    ),
]
GroupOption = Annotated[
    list[str] | None, typer.Option("-g", "--group", metavar="GROUP", help="Only this consumer group; may be repeated.")
]
TopicOption = Annotated[
    list[str] | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Only this topic; may be repeated.")
]
GroupPatternOption = Annotated[
    list[str] | None,
    typer.Option("-g", "--group", metavar="GROUP", help="Only this consumer group, or those like `order-*`; repeat."),
]
TopicPatternOption = Annotated[
    list[str] | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Only this topic, or those like it; repeat.")
]
ExceptOption = Annotated[
    list[str] | None,
    typer.Option("--except", metavar="NAME", help="But not this group or topic, or those like `*-test`; repeat."),
]
OnlineOption = Annotated[bool, typer.Option("--online", help="Only groups that have members online.")]
QueuesOption = Annotated[
    list[int] | None,
    typer.Option("-q", "--queue", metavar="ID", min=0, help="Only queues with this id, and who holds them; repeat."),
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
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="A saved snapshot instead of a store directory.")
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Skip the scan of the commit log; rules that need it are not checked.")
]
BrokersOption = Annotated[
    list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
]
StacksOption = Annotated[
    bool,
    typer.Option(
        "--stacks", help="Take the stacks of the consumers in question as well, three times within two seconds."
    ),
]
LangOption = Annotated[
    Lang | None,
    typer.Option(
        "--lang",
        envvar="MQCTL_LANG",
        callback=ask_for,
        help="Language of sentences. Codes and JSON stay as they are.",
    ),
]
OneTopicOption = Annotated[str, typer.Option("-t", "--topic", metavar="TOPIC", help="Which topic.")]
GroupsTopicOption = Annotated[
    str | None,
    typer.Option("-t", "--topic", metavar="TOPIC", help="Which topic; may be left out where the group has only one."),
]
OneGroupOption = Annotated[str, typer.Option("-g", "--group", metavar="GROUP", help="Which consumer group.")]
BodyOption = Annotated[
    BodyForm,
    typer.Option(
        "--body",
        help="How bodies are shown; compressed ones are unpacked, and bytes that are not UTF-8 as Base64 "
        "(see body_encoding).",
        show_choices=True,
    ),
]
ExecuteOption = Annotated[bool, typer.Option("--execute", help="Carry the plan out; without it nothing changes.")]
ConfirmOption = Annotated[
    str | None, typer.Option("--confirm", metavar="GROUP", help="The group's name, instead of typing it when asked.")
]
SettleOption = Annotated[
    str | None,
    typer.Option(
        "--settle",
        metavar="SPAN",
        help="How long to wait for members to take new offsets over and to keep them. Default: 10 s for each broker "
        "and topic being reset, and 30 s more.",
    ),
]
ConfirmNameOption = Annotated[
    str | None, typer.Option("--confirm", metavar="NAME", help="The name asked for, instead of typing it.")
]
OnlyBrokersOption = Annotated[
    list[str] | None, typer.Option("--broker", metavar="NAME", help="Only on this broker; may be repeated.")
]
LocalNameOption = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Which local cluster; several can run side by side.")
]


def at_ms(text: str | None, now: datetime) -> int | None:
    """Parses the value of `--at` and echoes the instant to stderr; None when the option was not given."""
    if text is None:
        return None
    from mqctl.cli.times import parse_instant

    moment = parse_instant(text, now)
    tell(sentence("cli-judged", "mqctl: judged as of {moment}", moment=moment.text))
    return moment.epoch_ms
