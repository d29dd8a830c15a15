"""`mqctl store describe`: a store directory in one screen."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import BrokerNameOption, NoColorOption, OutputOption, StoreOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.snapshot_source import read_snapshot
from mqctl.render.description import description_document

EXAMPLES = ("mqctl store describe --store /backup/store", "mqctl store describe --store /backup/store -o wide")


def command(
    store: StoreOption,
    broker_name: BrokerNameOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Summarise a store directory: files, checkpoint, topics, groups, times.

    Reads the ends of files only; `mqctl store verify` reads everything.
    """
    now = datetime.now().astimezone()
    state = read_snapshot(store=store, snapshot=None, now=now, broker_name=broker_name, quick=True)
    schema, folded = "store.describe/1", limit is None
    document = description_document(state, schema=schema, folded=folded)
    emit(limited(document, output, limit), output)
