"""Options of `mqctl drill check` and `mqctl drill run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.render.checks import CheckFormat

FormatOption = Annotated[
    CheckFormat | None, typer.Option("--as", help="Format of a CI or monitoring system.", show_choices=True)
]
ExcerptsOption = Annotated[
    int, typer.Option("--excerpts", min=1, max=1000, help="Most violations of each promise to show with evidence.")
]
PageOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write the verdict as a page.")]
