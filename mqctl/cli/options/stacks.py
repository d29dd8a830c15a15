"""Options of the stacks commands, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

PidOption = Annotated[
    int | None, typer.Option("--pid", metavar="PID", min=1, help="A process of this machine: Python or Java.")
]
ClientOption = Annotated[
    str | None,
    typer.Option("--client", metavar="ID", help="One instance of the group, through its broker, wherever it runs."),
]
StackGroupOption = Annotated[
    str | None,
    typer.Option("-g", "--group", metavar="GROUP", help="All instances of this consumer group, through their brokers."),
]
NativeOption = Annotated[bool, typer.Option("--native", help="Python: show C frames as well; stops it for longer.")]
NonblockingOption = Annotated[
    bool, typer.Option("--nonblocking", help="Python: do not stop the process; stacks may not fit together.")
]
DumpsOption = Annotated[
    int, typer.Option("--dumps", metavar="N", min=1, max=100, help="How many dumps: two and more show what moves.")
]
EveryOption = Annotated[
    str | None, typer.Option("--every", metavar="SPAN", help="How far apart the dumps are: 1s, with --watch 5s.")
]
