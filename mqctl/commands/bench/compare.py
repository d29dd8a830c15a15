"""`mqctl bench compare`: whether one run is better than another, beyond the noise of both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.errors import ExitCode

EXAMPLES = (
    "mqctl bench compare before.json after.json",
    "mqctl bench compare before.json after.json --threshold 0.1 -o json",
)
_Before = Annotated[Path, typer.Argument(metavar="BEFORE", help="JSON of a run: bench produce -o json.")]
_After = Annotated[Path, typer.Argument(metavar="AFTER", help="JSON of the other run.")]
_Threshold = Annotated[
    float, typer.Option("--threshold", min=0.001, max=1, metavar="SHARE", help="The smallest difference that counts.")
]


def command(
    before: _Before,
    after: _After,
    threshold: _Threshold = 0.05,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Compare rate, p50, p99 and errors of two runs, and say which moved by more than their seconds vary.

    Ends with 0 when nothing is worse, 2 when something is, 3 when the noise, too few seconds or other settings allow no
    answer. Two runs do not show how much runs vary: repeat the pair before you trust a small difference.
    """
    from mqctl.commands.bench.compare_view import comparison_document
    from mqctl.commands.bench.saved import read_run
    from mqctl.model.bench_comparison import BenchVerdict, compare_runs

    comparison = compare_runs(read_run(before), read_run(after), threshold=threshold)
    emit(comparison_document(comparison), output)
    codes = {BenchVerdict.WORSE: ExitCode.ERROR, BenchVerdict.UNCLEAR: ExitCode.UNKNOWN}
    return codes.get(comparison.verdict, ExitCode.OK)
