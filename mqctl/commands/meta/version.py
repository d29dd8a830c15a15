"""`mqctl version`: which mqctl this is, and what of brokers, stores and files it knows."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.cli.version import version_document
from mqctl.commands.meta.version_view import supported_document

EXAMPLES = ("mqctl version", "mqctl version --supported", "mqctl version --supported -o json")


def command(
    supported: Annotated[
        bool, typer.Option("--supported", help="The releases, kinds, engines and forms of files that mqctl knows.")
    ] = False,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show the version of mqctl, and with --supported what it knows.

    Whatever is not listed is named where it is met, and what depends on it is not judged: `doctor`, `check` and
    `store verify` end with 3 then, where they find nothing worse.
    """
    emit(supported_document() if supported else version_document(), output)
