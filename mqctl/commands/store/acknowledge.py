"""`mqctl store acknowledge`: somebody has seen to what recoveries set aside."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption, StoreOption

EXAMPLES = (
    "mqctl store acknowledge --store /data/store",
    "mqctl store acknowledge --store /data/store 00000000000000012345 --execute --confirm store",
)


def command(
    store: StoreOption,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="[PLACE]...", help="Which parts; without any all of them.")
    ] = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to acknowledge the log parts that recoveries moved away; with --execute, record it.

    `doctor --store` names each part of the log that a recovery moved to commitlog.set-aside until it is acknowledged or
    deleted. Each part is a store: `store cat` and `replay publish` read it with --store. A broker may be running.
    `mqctl undo ID` brings the findings back.
    """
    from mqctl.changes.engine.run import Consent
    from mqctl.changes.steps.acknowledge import acknowledge_places

    document, code = acknowledge_places(store, places or (), Consent(execute=execute, confirmed=confirm))
    emit(document, output)
    return code
