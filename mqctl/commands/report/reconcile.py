"""`mqctl report reconcile`: what was to be sent against what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption
from mqctl.cli.options.spark import (
    LOCAL,
    ConfOption,
    MasterOption,
    SinceOption,
    StoresOption,
    UntilOption,
    session_settings,
    started,
    store_paths,
    wanted_of,
)
from mqctl.errors import ExitCode, UsageError
from mqctl.model.message import KEYS
from mqctl.text import sentence

EXAMPLES = (
    "mqctl report reconcile --store /backup/store -t orders --csv orders.csv --column order_id",
    "mqctl report reconcile --store /backup/b -t orders --against /backup/a --against-topic orders_old --key ORDER_ID",
)


def command(
    store: StoresOption,
    topic: OneTopicOption,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Expected keys: a CSV file with a header, or its URL.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="With --csv: the column that holds the key.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="DIR", help="Instead: expected are the messages of this store; repeatable."),
    ] = None,
    against_topic: Annotated[
        str | None,
        typer.Option("--against-topic", metavar="TOPIC", help="Topic of the --against store, if it differs."),
    ] = None,
    key: Annotated[
        str, typer.Option("--key", metavar="PROPERTY", help="Property that holds the key; of KEYS every word.")
    ] = KEYS,
    since: SinceOption = None,
    until: UntilOption = None,
    show: Annotated[int, typer.Option("--show", min=0, metavar="N", help="Keys shown of each kind.")] = 20,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Compare stored messages with the expected ones by business key: missing, extra, or repeated.

    The expected keys come from a list of the business side, or from another store: of the producers' cluster before a
    migration, or of the topic that a consumer writes to. Times choose stored messages of both stores; a list is used
    completely. Ends with 0 if both sides agree, 1 if unexpected messages are stored, 2 if expected ones are not.
    """
    if (csv is None) == (not against):
        raise UsageError(
            sentence("report-name-expected-once", "name what is expected, once"),
            remedy=sentence("report-use-csv-file-column-name", "use --csv FILE --column NAME, or --against DIR"),
        )
    if (csv is None) != (column is None):
        raise UsageError(
            sentence("report-csv-column-go-together", "--csv and --column go together"),
            remedy=sentence("report-use-csv-file-column", "use --csv FILE --column NAME"),
        )
    if against_topic and not against:
        raise UsageError(
            sentence("report-against-topic", "--against-topic is the topic of --against"),
            remedy=sentence("report-use-against-dir", "use --against DIR"),
        )
    settings = session_settings(master, conf)
    stored = wanted_of(store_paths(store, settings), groups=None, topics=[topic], since=since, until=until)
    from mqctl.commands.report.reconcile_view import reconciliation_document
    from mqctl.spark.scan.planning import open_store
    from mqctl.spark.session.open import require_spark

    other = replace(stored, stores=store_paths(against or (), settings), topics=(against_topic or topic,))
    if settings.is_local:
        for path in (*stored.stores, *other.stores):
            open_store(path)
    require_spark()
    from mqctl.spark.reports.reconcile import Listed, reconciled

    expected = Listed(path=csv, column=column) if csv is not None and column is not None else other
    with started(settings) as spark:
        result = reconciled(spark, stored, expected, key=key, top=show)
    emit(reconciliation_document(result), output)
    if not result.stored_count + result.stored_keyless_count:
        tell(
            sentence(
                "report-no-message-topic-stored",
                "mqctl: no message of topic {topic} is stored there: check its name, and the times",
                topic=topic,
            )
        )
    if result.lost:
        return ExitCode.ERROR
    return ExitCode.WARNING if result.surplus else ExitCode.OK
