"""Several brokers' stores in one read: a queue is a topic, a broker and a queue id."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.spark.brokers import broker_names, broker_of
from mqctl.spark.scan.planning import open_store
from tests.conftest import Outcome
from tests.spark.plain_reports import messages_of
from tests.store.builder import StoreBuilder, message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., Outcome]
Store = Callable[[str], Path]


@pytest.mark.parametrize("name", ["store-clean", "store-killed", "store-rolled-clean", "store-5.3.3"])
def test_a_store_tells_its_broker_by_the_topics_a_broker_makes(name: str, golden_store: Store) -> None:
    assert broker_of(open_store(str(golden_store(name)))) == "broker-a"


def test_what_is_told_counts_first_and_nothing_is_guessed(golden_store: Store, tmp_path: Path) -> None:
    known, silent = str(golden_store("store-clean")), str(StoreBuilder().write(tmp_path / "store"))
    assert broker_names([known, silent, known, str(tmp_path / "gone")], ["", "", "b7"]) == ("broker-a", "", "b7", "")
    config = Path(silent) / "config"
    two = {name: {"topicName": name, "perm": 7, "readQueueNums": 1, "writeQueueNums": 1} for name in ("x", "y")}
    (config / "topics.json").write_text(json.dumps({"topicConfigTable": two}))
    assert broker_of(open_store(silent)) is None


def test_stores_of_both_versions_in_one_read_keep_their_queues_apart(mqctl: Run, golden_store: Store) -> None:
    old, new = golden_store("store-clean"), golden_store("store-5.3.3")
    stores = ("--store", f"old={old}", "--store", f"new={new}")
    outcome = mqctl("report", "skew", *stores, "--no-spark", "-o", "json")
    rows = outcome.json["report"]["queues"]
    truth = Counter(
        (each.topic, broker, each.queue_id)
        for broker, store in (("old", old), ("new", new))
        for each in messages_of(store)
    )
    message_counts = {(row["topic"], row["broker"], row["queue_id"]): row["messages"] for row in rows}
    assert len(message_counts) == len(rows)
    assert {where: number for where, number in message_counts.items() if number} == dict(truth)
    table = mqctl("report", "skew", *stores, "--no-spark").stdout
    assert "broker" in table
    assert " old " in table
    backlog = mqctl("report", "backlog", *stores, "--no-spark", "--by", "queue", "--all", "-o", "json").json["rows"]
    assert {row["broker"] for row in backlog} == {"old", "new"}
    for name, store in (("old", old), ("new", new)):
        alone = mqctl("report", "backlog", "--store", store, "--no-spark", "--by", "queue", "--all", "-o", "json").json
        assert sorted((r["group"], r["topic"], r["queue_id"], r["messages"]) for r in alone["rows"]) == sorted(
            (r["group"], r["topic"], r["queue_id"], r["messages"]) for r in backlog if r["broker"] == name
        )


def test_every_report_that_names_a_store_names_its_broker(mqctl: Run, golden_store: Store) -> None:
    store = golden_store("store-5.3.3")
    for report in ("skew", "tags", "capacity", "delay", "transactions", "retries", "order"):
        value = mqctl("report", report, "--store", store, "--no-spark", "-o", "json").json["report"]
        rows = [row for section in value.values() if isinstance(section, list) for row in section]
        brokers = [row["broker"] for row in rows if isinstance(row, dict) and "store" in row]
        assert set(brokers) <= {"broker-a"}, report
        assert brokers or report in ("order", "retries", "transactions"), report


def test_a_name_without_a_directory_is_a_usage_error(mqctl: Run) -> None:
    outcome = mqctl("report", "skew", "--store", "broker-a=", "--no-spark")
    assert outcome.exit_code == 64
    assert "--store NAME=DIR" in outcome.stderr


@pytest.mark.spark
def test_every_table_of_the_source_has_the_broker_as_a_column(
    spark: SparkSession, golden_store: Store, tmp_path: Path
) -> None:
    from mqctl.spark.source.data_source import register

    register(spark)
    builder = StoreBuilder()
    builder.append(message("Orders", 0))
    silent = builder.write(tmp_path / "store")
    stores = [str(golden_store("store-clean")), str(golden_store("store-5.3.3")), str(silent)]
    for table in ("messages", "consume_queue", "index", "consumer_offsets", "delay_offsets", "topics", "groups"):
        options = {"table": table, "stores": json.dumps(stores), "system": "true"}
        rows = spark.read.format("rocketmq").options(**options).load().select("store", "broker").distinct().collect()
        brokers_of = {row["store"]: row["broker"] for row in rows}
        assert brokers_of == {store: None if store == str(silent) else "broker-a" for store in brokers_of}, table
        assert brokers_of, table
    options_given = {**options, "table": "messages", "brokers": json.dumps(["a", "b", "c"])}
    rows = spark.read.format("rocketmq").options(**options_given).load().select("store", "broker").distinct().collect()
    assert {row["store"]: row["broker"] for row in rows} == dict(zip(stores, "abc", strict=True))
