"""`mqctl drill check`: judge the history of a drill."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, session_settings, started
from mqctl.cli.terminal.progress import step_progress
from mqctl.commands.drill.options import ExcerptsOption, FormatOption, PageOption
from mqctl.commands.drill.reporting import clear_away, refuse_page, report_verdict
from mqctl.drill.checker import Checker
from mqctl.errors import ExitCode, UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl drill check drill.history",
    "mqctl drill check drill.history -o json | jq '.breaches[] | select(.allowed_by == null)'",
    "mqctl drill check drill.history --as junit > drill.xml",
    "mqctl drill check /shared/soak.history --spark --master spark://host:7077",
)
_SparkOption = Annotated[bool, typer.Option("--spark", help="Judge it on Spark, where it outgrows a machine.")]


def command(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="The file that a drill wrote.")],
    form: FormatOption = None,
    excerpts: ExcerptsOption = 3,
    html: PageOption = None,
    with_spark: _SparkOption = False,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    output: OutputOption = Output.TABLE,
    lang: LangOption = None,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Judge the history of a drill: lost, repeated, out of order, late; with the lines that show it.

    A history that was interrupted is judged as far as it goes. Ends with 0 when every promise was kept, 2 when one was
    broken and no event explains it, 3 when the history ends before all could be judged. One process judges a million
    events a second in bounded memory, its scratch files on disk; --spark shares that out among workers, all of which
    read the file under its path, and comes to the same verdict.
    """
    clear_away()
    refuse_page(html)
    settings = session_settings(master, conf)
    if with_spark:
        from mqctl.drill.at_large import judge_at_large

        with started(settings) as spark:
            return report_verdict(judge_at_large(spark, history.absolute(), excerpts), form, html, output)
    if conf or not settings.is_local:
        raise UsageError(
            sentence("drill-master-conf-spark", "--master and --conf are for --spark"),
            remedy=sentence("drill-say-spark-too", "say --spark, too"),
        )
    with step_progress() as progress:
        verdict = Checker(history, excerpts, progress).judge()
    return report_verdict(verdict, form, html, output)
