"""The Spark data source `rocketmq`: tables over broker store directories that the workers read themselves.

    register(spark)
    spark.read.format("rocketmq").options(table="messages", stores='["/backup/store"]').load()

Options: `table` (see `TABLES`), `stores` (JSON list of directories as the executors see them; or one directory given to
`load`), `groups` and `topics` (JSON lists), `system` (`true` for RocketMQ's own), `partitions` (at most so many).
A narrower `.schema(...)` reads fewer columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from mqctl.errors import UsageError
from mqctl.spark.carried import carrying
from mqctl.spark.planning import Wanted
from mqctl.spark.tables import TABLES, Work

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
            partitions = int(self.options.get("partitions", _DEFAULT_PARTITIONS))
            return _Reader(_table(self.options), _wanted(self.options), partitions, tuple(schema.fieldNames()))


class _Partition(InputPartition):  # type: ignore[misc]  # PySpark is not typed for mypy here
    """Carries the work of one partition to its worker."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.work = work


class _Reader(DataSourceReader):  # type: ignore[misc]  # PySpark is not typed for mypy here
    def __init__(self, table: str, wanted: Wanted, partitions: int, names: tuple[str, ...]) -> None:
        self._table = table
        self._wanted = wanted
        self._count = max(1, partitions)
        self._names = names

    def partitions(self) -> Sequence[InputPartition]:
        with carrying():
            return [_Partition(work) for work in TABLES[self._table].plan(self._wanted, self._count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Partition)
        with carrying():
            yield from TABLES[self._table].read(partition.work, self._names)


def _table(options: Mapping[str, str]) -> str:
    name = options.get("table", "")
    if name not in TABLES:
        raise UsageError(f"read table {name!r} of format {FORMAT}", reason=f"the tables are {', '.join(TABLES)}")
    return name


def _wanted(options: Mapping[str, str]) -> Wanted:
    stores = _names(options, "stores") or tuple(filter(None, (options.get("path"),)))
    if not stores:
        raise UsageError(f"read format {FORMAT}", reason="no store", remedy="give option `stores` or load(DIR)")
    return Wanted(
        stores=stores,
        groups=_names(options, "groups"),
        topics=_names(options, "topics"),
        system=options.get("system", "false").lower() == "true",
    )


def _names(options: Mapping[str, str], key: str) -> tuple[str, ...]:
    text = options.get(key, "[]")
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"read option {key}={text}", reason="it must be a JSON list of texts")
    return tuple(value)
