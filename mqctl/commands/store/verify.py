"""`mqctl store verify`: every record, queue entry and index entry of a store."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.options.spark import ConfOption, OnSparkOption, OptionalMasterOption
from mqctl.cli.sources.verifying import store_at, verifier
from mqctl.cli.terminal.progress import step_progress
from mqctl.commands.store.verify_view import UnreadPart, verification_document, verification_exit
from mqctl.errors import ExitCode, MqctlError
from mqctl.rules.engine.unknown import odd_kind
from mqctl.rules.engine.why_words import reason
from mqctl.store.config_files import TOPICS, topic_configs
from mqctl.store.directory import StoreDirectory

EXAMPLES = (
    "mqctl store verify --store /backup/store",
    "mqctl store verify --store /backup/store -o json | jq '.deviations[] | select(.grade == \"damage\")'",
    "mqctl store verify --store s3://backups/broker-a --master spark://10.0.0.5:7077",
)


def command(
    store: Annotated[
        str,
        typer.Option("--store", metavar="DIR", help="A broker's store directory, or its URL (s3://, hdfs://, ...)."),
    ],
    spark: OnSparkOption = False,
    master: OptionalMasterOption = None,
    conf: ConfOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Verify every record, queue entry and index entry of a store directory.

    Ends with 0 when everything is intact, 1 for the usual traces of a crash (recovery repairs them), 2 for damage, 3
    when a part could not be read: its format is not read offline, no broker that mqctl knows writes it, a topic is of
    an unknown kind, or the operating system refused. Unusual but valid data is not reported.

    On Spark each task verifies complete files of the commit log, with the same findings: a store of one file gains
    nothing. This machine and the executors need the store at the same path.
    """
    with (
        store_at(store) as (location, directory),
        verifier(location, on_spark=spark, master=master, conf=conf) as verify,
        step_progress() as progress,
    ):
        report = verify(directory, progress)
    unread = [
        UnreadPart(part=gap.part, reason=gap.reason)
        for gap in (*directory.unreadable, *directory.unknown, *directory.unknown_fields(), *report.unread)
    ]
    unread += _unknown_topics(directory)
    emit(verification_document(store, report.summary(), report.damages, unread), output)
    return verification_exit(report.damages, unread)


def _unknown_topics(store: StoreDirectory) -> list[UnreadPart]:
    """Returns the topics of a kind that is not known, whose queues may have to be otherwise than others'. A table that
    cannot be read has none: the report says so."""
    with suppress(MqctlError):
        return [
            UnreadPart(part=f"config/{TOPICS}: {topic.name}", reason=reason(why))
            for topic in topic_configs(store.config(TOPICS))
            for why in odd_kind(topic)
        ]
    return []
