"""How every `mqctl report` command runs: options to a question, Spark or this process to an answer, then stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.limit import limited
from mqctl.cli.options.spark import (
    LOCAL,
    named_store,
    session_settings,
    started,
    store_paths,
    told_brokers,
    wanted_of,
)
from mqctl.cli.terminal.progress import Report, step_progress
from mqctl.errors import ExitCode, MqctlError, NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import dlq_topic, group_of, retry_topic
from mqctl.text import composed, joined, sentence

if TYPE_CHECKING:
    from mqctl.model.lang import Lang
    from mqctl.model.report_rows import StoreRead, Unread
    from mqctl.model.snapshot import ClusterSnapshot
    from mqctl.spark.engines import Engine
    from mqctl.spark.selection import Selection

NoSparkOption = Annotated[
    bool, typer.Option("--no-spark", help="Read in this process, without Spark and Java: for small stores.")
]
TopOption = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Keys shown of each queue or topic.")]
KeyOption = Annotated[
    str,
    typer.Option("--key", metavar="PROPERTY", help="Property that is the key; default: __SHARDINGKEY, else KEYS."),
]
BucketOption = Annotated[
    str, typer.Option("--bucket", metavar="DURATION", help="Width of the buckets of time, for instance 1m.")
]
ParquetOption = Annotated[
    Path | None,
    typer.Option("--parquet", metavar="DIR", help="Write each section as a Parquet file into this new directory."),
]
ReportGroupOption = Annotated[
    list[str] | None,
    typer.Option("-g", "--group", metavar="GROUP", help="Only topics this group has offsets for; may be repeated."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options that all reports share."""

    stores: list[str]
    groups: list[str] | None = None
    topics: list[str] | None = None
    since: str | None = None
    until: str | None = None
    system: bool = False
    master: str = LOCAL
    conf: list[str] | None = None
    no_spark: bool = False
    broker_names: list[str] | None = None
    lang: Lang | None = None


@contextmanager
def answering(
    question: ReportOptions, *, of_groups: bool = True, progress: Report | None = None
) -> Iterator[tuple[Engine, Selection]]:
    """Yields what computes the report and what it is asked for; a session lives as long as the block.

    On a terminal a bar tells how far the work is, unless a `progress` is given that shows it otherwise.

    With `of_groups` the asked groups choose topics; without, the report looks at groups itself.

    Raises:
        UsageError: `--no-spark` with options of Spark.
        NotFoundError: a group has no offsets anywhere.
    """
    from mqctl.spark.scan.remote import leave

    try:
        if progress is not None:
            with _answering(question, progress, of_groups=of_groups) as answer:
                yield answer
            return
        with step_progress() as report, _answering(question, report, of_groups=of_groups) as answer:
            yield answer
    finally:
        leave()


@contextmanager
def _answering(
    question: ReportOptions, progress: Report | None, *, of_groups: bool
) -> Iterator[tuple[Engine, Selection]]:
    settings = session_settings(question.master, question.conf)
    paths = store_paths(question.stores, settings)
    from mqctl.spark.brokers import broker_names

    brokers = broker_names(paths, told_brokers(question.stores, question.broker_names))
    wanted = wanted_of(
        paths,
        groups=question.groups,
        topics=question.topics,
        since=question.since,
        until=question.until,
        system=question.system,
        brokers=brokers,
    )
    if settings.is_local:  # the workers see what we see: no need to start a JVM to say that it is not there
        from mqctl.spark.scan.planning import open_store

        for path in paths:
            open_store(path)
    if question.no_spark:
        if question.conf or not settings.is_local:
            raise UsageError(
                sentence("report-no-spark-reads-process", "--no-spark reads in this process"),
                remedy=sentence("report-leave-master-conf-out", "leave --master and --conf out"),
            )
        from mqctl.spark.engines import PlainEngine

        plain = PlainEngine(progress=progress)
        yield plain, _of_groups(plain, wanted) if of_groups else wanted
        return
    with started(settings) as spark:
        from mqctl.spark.reports.combining import SparkEngine

        engine: Engine = SparkEngine(spark)
        if progress is not None:
            from mqctl.spark.watching import WatchedEngine

            engine = WatchedEngine(engine, spark, progress)
        yield engine, _of_groups(engine, wanted) if of_groups else wanted


def _of_groups(engine: Engine, wanted: Selection) -> Selection:
    """Narrows what is wanted to the topics of the asked groups."""
    if not wanted.groups:
        return wanted
    topics = engine.group_topics(wanted)
    given_up = _with_dead_letters(wanted) if any(group not in topics for group in wanted.groups) else set()
    for group in wanted.groups:
        if group not in topics and group not in given_up:
            known = ", ".join(sorted(topics)[:10])
            raise NotFoundError(
                sentence(
                    "report-no-consumer-group-offsets",
                    "no consumer group {group} with offsets in {paths}",
                    group=group,
                    paths=wanted.stores,
                ),
                reason=sentence("report-groups-offsets", "groups with offsets: {shown}", shown=known)
                if known
                else sentence("report-no-group-any", "no group has any there"),
                remedy=sentence("report-store-describe-shows", "mqctl store describe shows what a store has"),
            )
    own = {topic for group in wanted.groups for topic in topics.get(group, ())}
    # Retries and dead letters of a group are its own, whether it has offsets on them or not.
    own |= {topic for group in wanted.groups for topic in (retry_topic(group), dlq_topic(group))}
    return wanted.narrowed(topics=sorted(own))


def _with_dead_letters(wanted: Selection) -> set[str]:
    """Returns groups whose own topics stores name: one that never committed an offset may have given up on messages."""
    from mqctl.spark.scan.planning import open_store
    from mqctl.store.config_files import TOPICS, topic_configs

    owners: set[str] = set()
    for path in wanted.stores:
        try:
            names = [each.name for each in topic_configs(open_store(path).config(TOPICS))]
        except MqctlError:  # what only the workers can read: groups with offsets are known by then
            continue
        owners |= {group for name in names if (group := group_of(name)) is not None}
    return owners


def bucket_ms(text: str) -> int:
    """Parses `--bucket`.

    Raises:
        UsageError: it is no duration, or shorter than a second.
    """
    from mqctl.cli.times import parse_span_ms

    span_ms = parse_span_ms(text)
    if span_ms < 1000:
        raise UsageError(
            sentence("report-bucket-too-short", "--bucket {bucket} is too short", bucket=text),
            remedy=sentence("report-use-more", "use 1s or more"),
        )
    return span_ms


def report(
    question: ReportOptions,
    make: Callable[[Engine, Selection], object],
    name: str,
    form: tuple[Output, str | None],
    parquet: Path | None = None,
) -> int:
    """Computes a report, prints it, and tells on stderr what could not be read.

    Args:
        form: the format, and what --limit says.
    """
    from mqctl.render.reports.tables import report_document
    from mqctl.spark.brokers import with_brokers
    from mqctl.spark.reports.unread import log_unread, with_log

    with answering(question) as (engine, wanted):
        value = with_brokers(with_log(make(engine, wanted), log_unread(wanted.stores)), wanted)
    output, limit = form
    emit(limited(report_document(name, wanted.stores, value), output, limit), output)
    if parquet is not None:
        from mqctl.spark.saving import save_sections

        save_sections(name, value, parquet)
    tell_skipped(getattr(value, "read", []))
    return tell_unread(getattr(value, "unread", []))


def tell_unread(unread: Sequence[Unread]) -> ExitCode:
    """Tells what of the stores is missing from the figures; the exit code says so, too."""
    for each in unread:
        held = sentence("report-bytes", "{bytes:byte}", bytes=each.bytes) if each.bytes else ""
        log = sentence("report-its-log-holds", "its commit log holds ") if each.bytes else ""
        more = (
            ""
            if each.messages is None
            else composed("{log}{messages}", log=log, messages=counted(each.messages, "message"))
        )
        holds = joined("; ", filter(None, (held, more)))
        if holds:
            tell(
                sentence(
                    "report-not-read-store",
                    "mqctl: {store}: {part} is not read ({holds}): {reason}",
                    store=each.store,
                    part=each.part,
                    holds=holds,
                    reason=each.reason,
                )
            )
        else:
            tell(
                sentence(
                    "report-not-read",
                    "mqctl: {store}: {part} is not read: {reason}",
                    store=each.store,
                    part=each.part,
                    reason=each.reason,
                )
            )
    return ExitCode.IO if unread else ExitCode.OK


def tell_skipped(read: Sequence[StoreRead]) -> None:
    """Tells what of the stores could not be read: a report never counts less without saying so."""
    for each in read:
        if each.skipped_bytes:
            spots = ", ".join(map(str, each.damaged_at[:3]))
            tell(
                sentence(
                    "report-no-sound-records-passed",
                    "mqctl: {store}: {skipped_bytes:byte is/are} no sound records and {skipped_bytes:/was/were} passed "
                    "over (at physical offset {spots}); details: `{value}`",
                    store=each.store,
                    skipped_bytes=each.skipped_bytes,
                    spots=spots,
                    value=command_line("mqctl store verify --store {}", each.store),
                )
            )


def require_levels(levels: str | None) -> None:
    """Checks `--levels`: a broker would not start on a bad one, so it can only be a slip."""
    from mqctl.model.delay_level import DelayLevelTable

    bad = DelayLevelTable.parse(levels).bad_item if levels else None
    if bad is not None:
        raise UsageError(
            sentence("cannot-read-delay-levels", "cannot read the delay levels {levels!r}", levels=levels),
            reason=sentence("not-number-followed", "{bad!r} is not a number followed by s, m, h or d", bad=bad),
            remedy=sentence(
                "give-messagedelaylevel-broker-instance",
                "give messageDelayLevel as the broker has it, for instance --levels '1s 5s 10s 30s 1m'",
            ),
        )


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A snapshot that knows members of groups, and the broker of each store."""

    snapshot: ClusterSnapshot | None
    brokers: tuple[str, ...]

    def by_store(self, stores: Sequence[str]) -> dict[str, str]:
        """Returns the broker of each store."""
        return dict(zip(stores, self.brokers, strict=False))

    def place(self, stores: Sequence[str]) -> str:
        """Tells in words whose stores they are: clusters and brokers, as far as the snapshot or messages name them."""
        brokers = self.snapshot.brokers if self.snapshot is not None else ()
        named = {broker.cluster for broker in brokers if broker.cluster}
        clusters = sorted(named or {name for store in stores if (name := _cluster_in(store))})
        names = sorted(name for name in self.brokers if name)
        parts = (
            [sentence("report-cluster", "cluster {clusters}", clusters=clusters)]
            if clusters
            else [sentence("report-cluster-unknown", "cluster not known")]
        )
        parts += [sentence("report-broker", "broker {brokers}", brokers=names)] if names else []
        return joined(", ", parts)


def _cluster_in(store: str) -> str | None:
    """Returns the cluster that the first message of a store names, as brokers note it; None where none does."""
    from mqctl.store.directory import StoreDirectory

    try:
        log = StoreDirectory.open(Path(named_store(store)[1])).commit_log
        return log.record_at(log.min_offset).properties.get("CLUSTER")
    except (MqctlError, OSError):
        return None


def subscribed(snapshot: Path | None, stores: Sequence[str], brokers: Sequence[str] | None) -> Subscribed:
    """Loads `--snapshot` and matches stores with brokers.

    Raises:
        UsageError: it is not clear which store is which broker's.
    """
    given = told_brokers(stores, brokers)
    if snapshot is None:
        return Subscribed(None, given)
    from mqctl.snapshot.archive import load_snapshot
    from mqctl.spark.brokers import broker_names

    known = load_snapshot(snapshot)
    names = [name for name in given if name]
    in_snapshot = sorted({broker.name for broker in known.brokers if broker.name})
    if not names and len(stores) == 1 and len(in_snapshot) == 1:
        names = in_snapshot
    if len(names) != len(stores):
        names = [name for name in broker_names([named_store(text)[1] for text in stores], given) if name in in_snapshot]
    if len(names) != len(stores):
        raise UsageError(
            sentence("report-not-clear-store-belongs", "it is not clear which store belongs to which broker"),
            reason=sentence(
                "report-stores-broker-names",
                "{stores} stores, {names} broker names",
                stores=len(stores),
                names=len(names),
            ),
            remedy=sentence(
                "report-write-store-name-dir",
                "write --store NAME=DIR for each; the snapshot knows {in_snapshot}",
                in_snapshot=in_snapshot,
            ),
        )
    return Subscribed(known, tuple(names))


def scope_words(question: ReportOptions) -> str:
    """Tells in words what a question asks about."""
    parts = [
        f"{name} {', '.join(values)}"
        for name, values in (("groups", question.groups), ("topics", question.topics))
        if values
    ]
    parts += [f"{name} {value}" for name, value in (("since", question.since), ("until", question.until)) if value]
    return joined("; ", parts) or sentence("report-scope-all", "all groups and topics, everything that is stored")
