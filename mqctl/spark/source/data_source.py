"""The Spark data source `rocketmq`: tables over broker store directories that the workers read themselves.

    register(spark)
    spark.read.format("rocketmq").options(table="messages", stores='["/backup/store"]').load()

Options: `table` (see `TABLES`), `stores` (JSON list of directories or URLs as the executors see them; or one given to
`load`), `brokers` (JSON list: the name of each store's broker; where it is missing, the store's own topics tell),
`groups` and `topics` (JSON lists), `queue_ids` (JSON list of numbers), `system` (`true` for RocketMQ's own),
`since_ms` and `until_ms` (store time), `queue_offset_from`, `queue_offset_until`, `physical_offset_from`,
`physical_offset_until` (each range without its end), `ask` (JSON of a `Query`: what tables of partial aggregates are
counted by), `partitions` (at most so many). What they exclude is not read.

Comparisons of these columns with constants that Spark pushes down (`where("store_time_ms >= ...")`) do the same; they
need PySpark 4.1 and `spark.sql.python.filterPushdown.enabled=true`. A narrower `.schema(...)` reads fewer columns:
Spark prunes none of itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from mqctl.errors import UsageError
from mqctl.model.numbers import decimal
from mqctl.model.spans import FAR
from mqctl.spark.brokers import broker_names
from mqctl.spark.carried import carrying
from mqctl.spark.query import Query
from mqctl.spark.scan.remote import begin_look
from mqctl.spark.selection import Bounds, Selection
from mqctl.spark.source.table import SourceTable, Work
from mqctl.spark.source.tables import TABLES
from mqctl.text import sentence

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "rocketmq"
_DEFAULT_PARTITIONS = 8


def register(spark: SparkSession) -> None:
    """Makes `spark.read.format("rocketmq")` known to a session."""
    spark.dataSource.register(RocketmqSource)


class RocketmqSource(DataSource):  # type: ignore[misc]  # PySpark is not typed for mypy here
    """See the module."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        with carrying():
            return TABLES[_table(self.options)].columns

    def reader(self, schema: StructType) -> DataSourceReader:
        with carrying():
            name, wanted = _table(self.options), _wanted(self.options)
            if "brokers" not in self.options and "broker" in TABLES[name].columns:
                wanted = replace(wanted, brokers=broker_names(wanted.stores))
            _refuse_unanswerable(name, TABLES[name], wanted)
            partitions = _number(self.options, "partitions", _DEFAULT_PARTITIONS)
            query = Query.parse(self.options["ask"]) if "ask" in self.options else Query(())
            return _Reader(name, wanted, partitions, tuple(schema.fieldNames()), query)


class _Partition(InputPartition):  # type: ignore[misc]  # PySpark is not typed for mypy here
    """Carries the work of one partition to its worker."""

    def __init__(self, work: Work, look: str) -> None:
        super().__init__(work)
        self.work = work
        self.look = look


class _Reader(DataSourceReader):  # type: ignore[misc]  # PySpark is not typed for mypy here
    def __init__(self, table: str, wanted: Selection, partitions: int, names: tuple[str, ...], query: Query) -> None:
        self._table = table
        self._wanted = wanted
        self._count = max(1, partitions)
        self._names = names
        self._query = query

    def pushFilters(self, filters: list[object]) -> Iterable[object]:
        """Narrows what is planned and read; Spark still applies every filter, so nothing hangs on our reading of it."""
        useful = TABLES[self._table].filters
        for each in filters:
            column = getattr(each, "attribute", ("",))
            if len(column) == 1 and column[0] in useful:
                self._wanted = _narrowed(self._wanted, column[0], each)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        # One look at stores that are listed over a network: workers that outlive it list them anew.
        look = uuid4().hex
        with carrying():
            begin_look(look)
            work = TABLES[self._table].plan(self._wanted, self._query, self._count)
            return [_Partition(each, look) for each in work]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Partition):  # without partitions Spark asks for one of its own: nothing is wanted
            return
        with carrying():
            begin_look(partition.look)
            yield from TABLES[self._table].read(partition.work, self._names)


def _table(options: Mapping[str, str]) -> str:
    name = options.get("table", "")
    if name not in TABLES:
        raise UsageError(
            sentence("spark-read-table-format", "read table {name!r} of format {format}", name=name, format=FORMAT),
            reason=sentence("spark-tables", "the tables are {tables}", tables=TABLES),
        )
    return name


def _wanted(options: Mapping[str, str]) -> Selection:
    stores = _names(options, "stores") or tuple(filter(None, (options.get("path"),)))
    if not stores:
        raise UsageError(
            sentence("spark-read-format", "read format {format}", format=FORMAT),
            reason=sentence("spark-no-store", "no store"),
            remedy=sentence("spark-give-option-stores-load", "give option `stores` or load(DIR)"),
        )
    return Selection(
        stores=stores,
        groups=_names(options, "groups"),
        topics=_names(options, "topics"),
        system=options.get("system", "false").lower() == "true",
        queue_ids=_numbers(options, "queue_ids"),
        store_time_ms=Bounds(_number(options, "since_ms", -FAR), _number(options, "until_ms", FAR)),
        queue_offset=_bounds(options, "queue_offset"),
        physical_offset=_bounds(options, "physical_offset"),
        brokers=_names(options, "brokers"),
    )


def wanted_options(wanted: Selection) -> dict[str, str]:
    """Writes what is wanted as the options that `_wanted` reads."""
    options = {
        "stores": json.dumps(wanted.stores),
        "brokers": json.dumps(wanted.brokers),
        "groups": json.dumps(wanted.groups),
        "topics": json.dumps(wanted.topics),
        "queue_ids": json.dumps(wanted.queue_ids),
        "system": str(wanted.system).lower(),
        "since_ms": str(wanted.store_time_ms.low),
        "until_ms": str(wanted.store_time_ms.high),
    }
    for name, bounds in (("queue_offset", wanted.queue_offset), ("physical_offset", wanted.physical_offset)):
        options |= {f"{name}_from": str(bounds.low), f"{name}_until": str(bounds.high)}
    return options


def _narrowed(wanted: Selection, column: str, condition: object) -> Selection:
    """Applies one comparison of a column with constants; those of other kinds narrow nothing."""
    kind, value = type(condition).__name__, getattr(condition, "value", None)
    if column in ("topic", "queue_id"):
        return _named(
            wanted, column, value if kind == "In" else (value,) if kind in ("EqualTo", "EqualNullSafe") else ()
        )
    if not isinstance(value, int):
        return wanted
    ranges = {
        "EqualTo": (value, value + 1),
        "EqualNullSafe": (value, value + 1),
        "GreaterThan": (value + 1, FAR),
        "GreaterThanOrEqual": (value, FAR),
        "LessThan": (-FAR, value),
        "LessThanOrEqual": (-FAR, value + 1),
    }
    if kind not in ranges:
        return wanted
    low, high = ranges[kind]
    if column == "store_time_ms":
        return replace(wanted, store_time_ms=wanted.store_time_ms.meet(low, high))
    if column == "queue_offset":
        return replace(wanted, queue_offset=wanted.queue_offset.meet(low, high))
    return replace(wanted, physical_offset=wanted.physical_offset.meet(low, high))


def _named(wanted: Selection, column: str, values: object) -> Selection:
    if not isinstance(values, list | tuple) or not values or any(each is None for each in values):
        return wanted
    return wanted.narrowed(topics=values) if column == "topic" else wanted.narrowed(queue_ids=values)


def _refuse_unanswerable(name: str, table: SourceTable, wanted: Selection) -> None:
    asks_time = not wanted.store_time_ms.is_everything
    asks_offsets = bool(wanted.queue_ids) or not (
        wanted.queue_offset.is_everything and wanted.physical_offset.is_everything
    )
    if (asks_time and not table.has_store_time) or (asks_offsets and not table.has_offsets):
        what = (
            sentence("spark-store-times", "store times")
            if asks_time and not table.has_store_time
            else sentence("spark-offsets-to-choose", "offsets to choose by")
        )
        raise UsageError(
            sentence("spark-read-range-table", "read a range of table {name}", name=name),
            reason=sentence("spark-no", "it has no {what}", what=what),
            remedy=sentence("spark-read-whole-filter", "read it completely, then filter"),
        )


def _bounds(options: Mapping[str, str], key: str) -> Bounds:
    return Bounds(_number(options, f"{key}_from", -FAR), _number(options, f"{key}_until", FAR))


def _number(options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key, str(default))
    number = decimal(text, low=-FAR, high=FAR)
    if number is None:
        raise UsageError(
            sentence("spark-read-option", "read option {key}={options}", key=key, options=text),
            reason=sentence("must-whole-number", "it must be a whole number"),
        )
    return number


def _names(options: Mapping[str, str], key: str) -> tuple[str, ...]:
    value = _list(options, key)
    if not all(isinstance(item, str) for item in value):
        raise UsageError(
            sentence("spark-read-option", "read option {key}={options}", key=key, options=options[key]),
            reason=sentence("spark-must-json-list-texts", "it must be a JSON list of texts"),
        )
    return tuple(str(item) for item in value)


def _numbers(options: Mapping[str, str], key: str) -> tuple[int, ...]:
    value = _list(options, key)
    numbers = tuple(item for item in value if isinstance(item, int))
    if len(numbers) < len(value):
        raise UsageError(
            sentence("spark-read-option", "read option {key}={options}", key=key, options=options[key]),
            reason=sentence("spark-must-json-list-whole", "it must be a JSON list of whole numbers"),
        )
    return numbers


def _list(options: Mapping[str, str], key: str) -> list[object]:
    text = options.get(key, "[]")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise UsageError(
            sentence("spark-read-option", "read option {key}={options}", key=key, options=text),
            reason=sentence("spark-must-json-list", "it must be a JSON list"),
        )
    return value
