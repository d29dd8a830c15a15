"""`report reconcile`: a store against a list of the business side and against another store, by key."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.model.message import KEYS
from mqctl.spark.selection import Selection
from tests.client.consuming import create_topic, send
from tests.conftest import Outcome
from tests.requires import need_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqctl.spark.reports.reconcile import Listed

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Topic Pay has o-1 twice, o-2, o-3 and o-4 in one message, one without a key; Old has o-1 and o-2."""
    place = tmp_path_factory.mktemp("reconcile") / "store"
    with EmbeddedCluster() as cluster:
        for topic in ("Pay", "Old"):
            create_topic(cluster, topic)

        def message(topic: str, keys: str | None) -> OutgoingMessage:
            own = {"ORDER": keys.split()[0]} if keys else {}
            return OutgoingMessage(topic=topic, body=b"x", keys=keys or "", properties=own)

        send(cluster, [message("Pay", keys) for keys in ("o-1", "o-1", "o-2", "o-3 o-4", None)])
        send(cluster, [message("Old", keys) for keys in ("o-1", "o-2")])
        cluster.broker().stop()
        shutil.copytree(cluster.broker().store, place)
    return place


def listed(directory: Path, text: str) -> Listed:
    from mqctl.spark.reports.reconcile import Listed

    file = directory / "orders.csv"
    file.write_text(text)
    return Listed(path=str(file), column="order id")


def test_a_list_of_the_business_side(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    from mqctl.spark.reports.reconcile import reconciled

    file = listed(tmp_path, 'n,"order id"\n1,o-1\n2,o-2\n3,o-2\n4, o-9 \n5,\n6,"o-3"\n')
    rows = reconciled(spark, Selection((str(store),), topics=("Pay",)), file, key=KEYS, top=5)
    assert [row.key for row in rows.missing] == ["o-9"]
    assert [(row.key, row.expected_count, row.stored_count) for row in rows.short] == [("o-2", 2, 1)]
    assert [(row.key, row.expected_count, row.stored_count) for row in rows.repeated] == [("o-1", 1, 2)]
    assert [row.key for row in rows.extra] == ["o-4"]
    assert (rows.matched_key_count, rows.expected_count, rows.expected_keyless_count) == (1, 5, 1)
    assert (rows.stored_count, rows.stored_key_count, rows.stored_keyless_count) == (5, 4, 1)
    (first,) = rows.repeated
    assert first.first_ms is not None and first.last_ms is not None and first.first_ms <= first.last_ms
    assert (rows.lost, rows.surplus) == (True, True)
    assert [row.skipped_bytes for row in rows.read] == [0]


def test_another_topic_and_another_property(spark: SparkSession, store: Path) -> None:
    from mqctl.spark.reports.reconcile import reconciled

    def against(topic: str, other: str, key: str) -> dict[str, int]:
        stored, expected = (Selection((str(store),), topics=(name,)) for name in (topic, other))
        rows = reconciled(spark, stored, expected, key=key, top=0)
        assert (rows.missing, rows.extra, rows.repeated) == ([], [], [])  # none are shown, all are counted
        return {
            name: getattr(rows, f"{name}_key_count") for name in ("matched", "missing", "extra", "repeated", "short")
        }

    assert against("Pay", "Old", "ORDER") == {"matched": 1, "missing": 0, "extra": 1, "repeated": 1, "short": 0}
    assert against("Nothing", "Old", KEYS) == {"matched": 0, "missing": 2, "extra": 0, "repeated": 0, "short": 0}


@pytest.mark.long
def test_the_command_line_judges(mqctl: Run, store: Path, tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    file = listed(tmp_path, "order id\no-1\no-1\no-2\no-3\n")
    words = ("--store", store, "-t", "Pay", "--csv", file.path, "--column", file.column, "--master", "local[1]")
    outcome = mqctl("report", "reconcile", *words, env={"HOME": ""})
    assert outcome.exit_code == 1, outcome.stderr
    assert "1 key stored, not expected" in outcome.stdout and "o-4" in outcome.stdout
    assert "3 keys as often on both sides" in outcome.stdout


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 64, "name what is expected, once"),
        (("--csv", "x.csv"), 64, "--csv and --column go together"),
        (("--csv", "x.csv", "--column", "a", "--against", "DIR"), 64, "once"),
        (("--csv", "x.csv", "--column", "a", "--against-topic", "Old"), 64, "--against"),
        (("--against", "no-such-directory"), 66, "no-such-directory"),
    ],
)
def test_what_makes_no_sense(mqctl: Run, store: Path, words: tuple[str, ...], code: int, told: str) -> None:
    outcome = mqctl("report", "reconcile", "--store", store, "-t", "Pay", *words)
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    assert told in outcome.stderr


def test_files_that_are_not_there_or_have_no_such_column(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    from mqctl.errors import NotFoundError, UsageError
    from mqctl.spark.reports.reconcile import Listed, reconciled

    stored = Selection((str(store),), topics=("Pay",))
    with pytest.raises(NotFoundError, match=r"nowhere\.csv"):
        reconciled(spark, stored, Listed(path="nowhere.csv", column="a"), key=KEYS, top=1)
    file = listed(tmp_path, "n,key\n1,o-1\n")
    with pytest.raises(UsageError) as failure:
        reconciled(spark, stored, file, key=KEYS, top=1)
    assert "n, key" in (failure.value.reason or "")
