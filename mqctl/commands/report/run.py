"""`mqctl report run`: all reports at once, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    AllOption,
    AtOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OutputOption,
    SnapshotOption,
    TopicOption,
    at_ms,
)
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.cli.terminal.progress import reported_steps
from mqctl.cli.text_files import write_text
from mqctl.commands.report.answering import (
    KeyOption,
    NoSparkOption,
    ReportGroupOption,
    ReportOptions,
    TopOption,
    answering,
    bucket_ms,
    require_levels,
    scope_words,
    subscribed,
    tell_skipped,
    tell_unread,
)
from mqctl.model.report_rows import Unread

EXAMPLES = (
    "mqctl report run --store /backup/store --html report.html",
    "mqctl report run --store /backup/a --store /backup/b --since -2d --save run.parquet",
    "mqctl report run --store /data/store --no-spark --html report.html",
)


_Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write everything as one self-contained page.")
]
_Save = Annotated[
    Path | None, typer.Option("--save", metavar="FILE", help="Save all figures as Parquet, for `report diff`.")
]
_Bucket = Annotated[
    str | None, typer.Option("--bucket", metavar="DURATION", help="Width of the buckets of time; default: fitting.")
]
_ErrorProperty = Annotated[
    str, typer.Option("--error-property", metavar="PROPERTY", help="Property that carries the last error.")
]
_BrokerName = Annotated[
    list[str] | None, typer.Option("--broker-name", metavar="NAME", help="Broker of each store, in their order.")
]


def command(
    store: StoresOption,
    html: _Html = None,
    save: _Save = None,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    at: AtOption = None,
    key: KeyOption = "",
    top: TopOption = 5,
    bucket: _Bucket = None,
    levels: LevelsOption = None,
    error_property: _ErrorProperty = "",
    snapshot: SnapshotOption = None,
    broker_name: _BrokerName = None,
    system: AllOption = False,
    no_spark: NoSparkOption = False,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    lang: LangOption = None,
) -> int:
    """Run all reports at once: the main results on stdout, everything in the page of --html.

    The page needs only a browser: findings first, charts, then tables whose figures can be saved as CSV.
    """
    from mqctl.spark.brokers import with_brokers
    from mqctl.spark.reports.run import RunSettings, run_report

    moment = at_ms(at, datetime.now().astimezone())
    require_levels(levels)
    known = subscribed(snapshot, store, broker_name)
    question = ReportOptions(
        stores=store, groups=group, topics=topic, since=since, until=until, system=system,
        master=master, conf=conf, no_spark=no_spark, broker_names=broker_name, lang=lang,
    )  # fmt: skip
    with reported_steps() as steps, answering(question, progress=steps.part if steps else None) as (engine, wanted):
        settings = RunSettings(
            top=top,
            bucket_ms=bucket_ms(bucket) if bucket else None,
            at_ms=moment,
            key_property=key,
            levels=levels or "",
            error_property=error_property,
            snapshot=known.snapshot,
            brokers=known.by_store(wanted.stores),
        )
        made = run_report(engine, wanted, settings, steps.step if steps else None)
        reports = {name: with_brokers(value, wanted) for name, value in made.items()}
    _write(question, wanted.stores, known.place(wanted.stores), reports, html=html, save=save)
    from mqctl.commands.report.runs_view import run_document

    document = run_document(wanted.stores, reports, str(html) if html else None, str(save) if save else None)
    emit(limited(document, output, limit), output)
    tell_skipped(getattr(reports["capacity"], "read", []))
    return tell_unread(_unread(reports))


def _unread(reports: dict[str, object]) -> list[Unread]:
    """What any report had to leave out, each part once."""
    unread = [each for report in reports.values() for each in getattr(report, "unread", [])]
    return list({(each.store, each.part): each for each in unread}.values())


def _write(
    question: ReportOptions,
    stores: Sequence[str],
    cluster: str,
    reports: dict[str, object],
    *,
    html: Path | None,
    save: Path | None,
) -> None:
    if html is not None:
        _write_page(html, question, stores, cluster, reports)
    if save is not None:
        from mqctl.spark.runs import save_run

        save_run(reports, save)


def _write_page(
    file: Path, question: ReportOptions, stores: Sequence[str], cluster: str, reports: dict[str, object]
) -> None:
    from mqctl.render.reports.html import Page, html_page

    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    page = Page(
        stores=stores,
        cluster=cluster,
        scope=scope_words(question),
        made_at_ms=now_ms,
        reports=reports,
        lang=question.lang,
    )
    write_text(file, html_page(page))
