"""Options of the replay commands, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TopicOption = Annotated[str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Whose messages.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Start at the first message stored at or after this time.")
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Up to this store time (exclusive).")]
FromOffsetOption = Annotated[
    int | None, typer.Option("--from-offset", metavar="OFFSET", min=0, help="Start at this queue offset in each queue.")
]
ToOffsetOption = Annotated[
    int | None, typer.Option("--to-offset", metavar="OFFSET", min=0, help="Up to this queue offset (exclusive).")
]
SkippedOption = Annotated[
    str | None, typer.Option("--skipped", metavar="ID", help="Messages that a change of `mqctl history` has skipped.")
]
FromFileOption = Annotated[
    Path | None,
    typer.Option(
        "--from-file",
        metavar="FILE",
        help="The replay plan of `mqctl offset skip`, or a CSV with columns topic,broker_name,queue_id,begin,end.",
    ),
]
BrokersOption = Annotated[
    list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
]
QueuesOption = Annotated[
    list[int] | None, typer.Option("-q", "--queue", metavar="ID", min=0, help="Only this queue; may be repeated.")
]
ConfirmTopicOption = Annotated[
    str | None, typer.Option("--confirm", metavar="TOPIC", help="The target's name, instead of typing it when asked.")
]
