"""Options of the commands that create and change topics."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.changes.plan.topic_changes import MAX_QUEUES, TopicRequest, parse_perm
from mqctl.errors import UsageError
from mqctl.text import sentence

QueuesOption = Annotated[
    int | None,
    typer.Option(
        "--queues", metavar="NUMBER", min=1, max=MAX_QUEUES, help="Queues to read and to write, of each broker."
    ),
]
ReadQueuesOption = Annotated[
    int | None,
    typer.Option("--read-queues", metavar="NUMBER", min=1, max=MAX_QUEUES, help="Queues to read, of each broker."),
]
WriteQueuesOption = Annotated[
    int | None,
    typer.Option("--write-queues", metavar="NUMBER", min=1, max=MAX_QUEUES, help="Queues to write, of each broker."),
]
PermOption = Annotated[
    str | None, typer.Option("--perm", metavar="PERM", help="Who may use it: RW, R (read), W (write) or -.")
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute", metavar="NAME=VALUE", help="5.x only: an attribute, message.type=FIFO for instance; repeatable."
    ),
]


def topic_request(
    queues: int | None,
    read_queues: int | None,
    write_queues: int | None,
    perm: str | None,
    attributes: list[str] | None,
) -> TopicRequest:
    """Reads what is wanted of a topic. Raises UsageError."""
    named: dict[str, str] = {}
    for item in attributes or ():
        name, given, value = item.partition("=")
        if not given or not name or not value or "," in item:
            raise UsageError(
                sentence("cli-cannot-read-attribute", "cannot read --attribute {item!r}", item=item),
                remedy=sentence("cli-write-name-value-message", "write NAME=VALUE, message.type=FIFO for instance"),
            )
        named[name] = value
    return TopicRequest(
        queues=queues,
        read_queues=read_queues,
        write_queues=write_queues,
        perm=None if perm is None else parse_perm(perm),
        attributes=named,
    )
