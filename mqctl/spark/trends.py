"""Trends over recordings: one text of SQL, run by Spark where it outgrows a machine, else by DuckDB in this process.

Both read the recorder's Parquet files as they are. DuckDB, since it takes the same SQL over the same files, uses all
cores, spills to disk and needs no service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import NotFoundError
from mqctl.model.over_time import BrokerOverTime, GroupOverTime
from mqctl.model.spans import DAY_MS
from mqctl.recording.kinds import COLUMNS, FORMAT, FORMAT_ENTRY, MOST_ROWS, RowKind
from mqctl.recording.place import open_place, pieces_in
from mqctl.store.plain_files import LARGEST_BYTES, look_at
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_READ = (RowKind.LOOKS, RowKind.QUEUES, RowKind.OFFSETS, RowKind.BROKERS)
# Words of SQL, and of ours, that the files have as names of columns.
_RENAMED = {"group": "group_name", "offset": "consumer_offset", "cluster": "cluster_name"}
_TYPES: Mapping[type, str] = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", str: "STRING"}
Row = tuple[object, ...]

_MOMENTS = """
WITH answered AS (
    SELECT cluster, moment_ms, keyframe, CAST(floor(moment_ms / {period_ms}) AS BIGINT) AS period
    FROM looks
    WHERE outcome IN ('whole', 'partial') AND moment_ms >= {since_ms} AND moment_ms < {until_ms}
), frames AS (
    SELECT cluster, period, max(moment_ms) AS frame_ms FROM answered WHERE keyframe GROUP BY cluster, period
), moments AS (
    SELECT answered.cluster, answered.period, answered.moment_ms
    FROM answered JOIN frames ON answered.cluster = frames.cluster AND answered.period = frames.period
    WHERE answered.moment_ms >= frames.frame_ms
)"""
_NEWEST = """, {name} AS (
    SELECT * FROM (
        SELECT moments.period, {kind}.*, row_number() OVER (
            PARTITION BY {kind}.cluster, moments.period, {key} ORDER BY {kind}.moment_ms DESC
        ) AS place
        FROM {kind} JOIN moments ON {kind}.cluster = moments.cluster AND {kind}.moment_ms = moments.moment_ms
    ) AS placed
    WHERE place = 1 AND NOT gone
)"""
_GROUPS = (
    _MOMENTS
    + _NEWEST.format(name="ends", kind="queues", key="broker, topic, queue_id")
    + _NEWEST.format(name="commits", kind="offsets", key="broker, group_name, topic, queue_id")
    + """, steps AS (
    SELECT commits.cluster, commits.period, commits.group_name, commits.topic,
        greatest(max_offset - consumer_offset, 0) AS lag_count,
        max_offset - lag(max_offset) OVER past AS produced,
        consumer_offset - lag(consumer_offset) OVER past AS committed
    FROM commits JOIN ends ON commits.cluster = ends.cluster AND commits.period = ends.period
        AND commits.broker = ends.broker AND commits.topic = ends.topic AND commits.queue_id = ends.queue_id
    WHERE max_offset IS NOT NULL AND consumer_offset IS NOT NULL
    WINDOW past AS (
        PARTITION BY commits.cluster, commits.group_name, commits.topic, commits.broker, commits.queue_id
        ORDER BY commits.period
    )
), points AS (
    SELECT cluster, period, group_name, topic, CAST(sum(lag_count) AS BIGINT) AS lag_count,
        CAST(sum(produced) AS BIGINT) AS produced, CAST(sum(committed) AS BIGINT) AS committed
    FROM steps GROUP BY cluster, period, group_name, topic
), ordered AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, group_name, topic ORDER BY period) AS upward,
        row_number() OVER (PARTITION BY cluster, group_name, topic ORDER BY period DESC) AS downward
    FROM points
)
SELECT cluster, group_name, topic, count(*), min(period) * {period_ms}, max(period) * {period_ms},
    max(CASE WHEN upward = 1 THEN lag_count END), max(CASE WHEN downward = 1 THEN lag_count END), max(lag_count),
    CASE WHEN count(*) > 1 THEN round(
        regr_slope(CAST(lag_count AS DOUBLE), CAST(period AS DOUBLE)) * {periods_a_day}, 3) END,
    CAST(sum(produced) AS BIGINT), CAST(sum(committed) AS BIGINT)
FROM ordered GROUP BY cluster, group_name, topic"""
)
_BROKERS = (
    _MOMENTS
    + _NEWEST.format(name="states", kind="brokers", key="broker, broker_id")
    + """, ordered AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, broker, broker_id ORDER BY period) AS upward,
        row_number() OVER (PARTITION BY cluster, broker, broker_id ORDER BY period DESC) AS downward
    FROM states
)
SELECT cluster, broker, broker_id, count(*), min(period) * {period_ms}, max(period) * {period_ms},
    max(CASE WHEN upward = 1 THEN disk_used_share END), max(CASE WHEN downward = 1 THEN disk_used_share END),
    max(disk_used_share),
    CASE WHEN count(disk_used_share) > 1 THEN round(
        regr_slope(disk_used_share, CAST(period AS DOUBLE)) * {periods_a_day}, 6) END,
    max(put_tps)
FROM ordered GROUP BY cluster, broker, broker_id"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFiles:
    """The files of one recording that can be read, as engines open them; `problems` of those that cannot."""

    name: str
    files: Mapping[RowKind, Sequence[str]]
    problems: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendQuestion:
    """What is asked: the width of a period, and the moments between which it looks."""

    period_ms: int
    since_ms: int
    until_ms: int

    def words(self) -> dict[str, str]:
        """Returns what stands in the SQL: numbers only."""
        return {
            "period_ms": str(self.period_ms),
            "since_ms": str(self.since_ms),
            "until_ms": str(self.until_ms),
            "periods_a_day": repr(DAY_MS / self.period_ms),
        }


def recorded_files(name: str, location: str) -> RecordedFiles:
    """Lists a recording, and looks at the end of each file: one that was cut must not cost the whole answer.

    Raises:
        NotFoundError: there is no recording, or no look of it can be read.
        StorageError: the place cannot be listed.
    """
    place = open_place(location)
    files: dict[RowKind, list[str]] = {kind: [] for kind in _READ}
    problems = []
    for piece in pieces_in(place):
        if piece.kind in files:
            path = f"{location.rstrip('/')}/{piece.name}"
            if problem := _footer_problem(path):
                problems.append(
                    sentence("spark-left-out", "{path} was left out: {problem}", path=path, problem=problem)
                )
            else:
                files[piece.kind].append(path)
    if not files[RowKind.LOOKS]:
        raise NotFoundError(
            sentence("no-recording", "there is no recording in {location}", location=location),
            reason=problems[0] if problems else sentence("spark-no-looks", "it has no looks"),
            remedy=sentence("record-dir-makes", "mqctl record DIR makes one"),
        )
    return RecordedFiles(name=name, files=files, problems=problems)


def local_trends(
    recordings: Sequence[RecordedFiles], question: TrendQuestion
) -> tuple[list[GroupOverTime], list[BrokerOverTime]]:
    """Answers in this process, with DuckDB."""
    import duckdb

    # Extensions would come from the network; parquet is built in.
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
        for scheme in {path.partition("://")[0] for each in recordings for path in each.files[RowKind.LOOKS]}:
            if "/" not in scheme and scheme:
                import fsspec

                database.register_filesystem(fsspec.filesystem(scheme))
        for kind in _READ:
            parts = [_local_part(each, kind) for each in recordings]
            database.execute(f"CREATE VIEW {kind} AS {' UNION ALL '.join(parts)}")
        groups = database.execute(_GROUPS.format(**question.words())).fetchall()
        brokers = database.execute(_BROKERS.format(**question.words())).fetchall()
    return _groups(groups), _brokers(brokers)


def spark_trends(
    spark: SparkSession, recordings: Sequence[RecordedFiles], question: TrendQuestion
) -> tuple[list[GroupOverTime], list[BrokerOverTime]]:
    """Answers with Spark; what comes back is a row for each group on a topic, and for each broker."""
    from pyspark.sql.functions import lit

    for kind in _READ:
        whole = spark.sql(_nothing(kind))
        for each in recordings:
            if each.files[kind]:
                frame = spark.read.parquet(*each.files[kind])
                columns = [frame[name].alias(_RENAMED.get(name, name)) for name in _columns(kind)]
                whole = whole.unionByName(frame.select(lit(each.name).alias("cluster"), *columns))
        whole.createOrReplaceTempView(kind)
    groups = spark.sql(_GROUPS.format(**question.words())).collect()
    brokers = spark.sql(_BROKERS.format(**question.words())).collect()
    return _groups(groups), _brokers(brokers)


def _columns(kind: RowKind) -> dict[str, type]:
    """Returns the columns of a kind's files, with their types."""
    gone = {} if kind is RowKind.LOOKS else {"gone": bool}
    return {"moment_ms": int, **COLUMNS[kind].all, **gone}


def _nothing(kind: RowKind) -> str:
    """Returns a table of the kind without rows: a recording whose files of it are all lost is still one."""
    casts = (f"CAST(NULL AS {_TYPES[cell]}) AS {_RENAMED.get(name, name)}" for name, cell in _columns(kind).items())
    return f"SELECT CAST(NULL AS STRING) AS cluster, {', '.join(casts)} WHERE false"


def _local_part(recording: RecordedFiles, kind: RowKind) -> str:
    files = recording.files[kind]
    if not files:
        return _nothing(kind)
    columns = (f'"{name}" AS {_RENAMED.get(name, name)}' for name in _columns(kind))
    paths = ", ".join(map(_literal, files))
    return (
        f"SELECT {_literal(recording.name)} AS cluster, {', '.join(columns)} "
        f"FROM read_parquet([{paths}], hive_partitioning = false)"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _groups(rows: Iterable[Row]) -> list[GroupOverTime]:
    """Names the columns; what grows fastest stands first."""
    names = [item.name for item in fields(GroupOverTime)]
    values = [GroupOverTime(**dict(zip(names, row, strict=True))) for row in rows]  # type: ignore[arg-type]
    return sorted(values, key=lambda row: (-(row.lag_change_per_day or 0), row.cluster, row.group, row.topic))


def _brokers(rows: Iterable[Row]) -> list[BrokerOverTime]:
    """Names the columns; the disk that fills fastest stands first."""
    names = [item.name for item in fields(BrokerOverTime)]
    values = [BrokerOverTime(**dict(zip(names, row, strict=True))) for row in rows]  # type: ignore[arg-type]
    return sorted(values, key=lambda row: (-(row.disk_change_per_day or 0), row.cluster, row.broker, row.broker_id))


def _footer_problem(path: str) -> str:
    """Says what is wrong with the end of a file, where Parquet keeps its index; nothing is when it can be read."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    if "://" not in path:
        size, what = look_at(Path(path))
        if size is None or size > LARGEST_BYTES:
            return what or sentence("file-larger-than", "it is larger than {limit_bytes}", limit_bytes=LARGEST_BYTES)
    try:
        with fsspec.open(path) as file:
            footer = pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        return sentence("cut-damaged", "cut or damaged: {split}", split=" ".join(str(error).split()))
    if footer.num_rows > MOST_ROWS:
        return sentence(
            "file-too-many-rows",
            "it has {count:row}, the limit is {most:,}",
            count=footer.num_rows,
            most=MOST_ROWS,
        )
    version = (footer.metadata or {}).get(FORMAT_ENTRY, b"none").decode(errors="replace")
    return (
        ""
        if version == FORMAT
        else sentence("format-not", "its format is {version}, not {format}", version=version, format=FORMAT)
    )
