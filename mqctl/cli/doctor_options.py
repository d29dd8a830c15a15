"""Options of `doctor`: how long to look, by which rules, what is known already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.model.finding import Severity

WindowOption = Annotated[
    str | None, typer.Option("--window", metavar="SPAN", help="Look twice, so far apart, at what should move: 60s.")
]
TimeScaleOption = Annotated[
    float, typer.Option("--time-scale", metavar="X", help="The cluster's clocks run X times as fast.")
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="CODE", help="Only these rules; `MQ7*` names a family.")
]
SkipOption = Annotated[list[str] | None, typer.Option("--skip", metavar="CODE", help="Leave these rules out.")]
KnownOption = Annotated[
    Path | None,
    typer.Option(
        "--known", metavar="FILE", help="States that are accepted until a date; findings on them are set aside."
    ),
]
FailOnOption = Annotated[
    Severity, typer.Option("--fail-on", help="Milder findings are shown but do not change the exit code.")
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show each finding's evidence in full.")]


def window_ms(text: str | None) -> int:
    """Reads a window; 0 without one. Raises UsageError."""
    from mqctl.cli.times import parse_span_ms

    return parse_span_ms(text) if text else 0
