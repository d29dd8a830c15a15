"""Ends of queues behind a URL: several are looked at at once, and no more than agreed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mqctl.errors import StorageError
from mqctl.spark.engines import PlainEngine
from mqctl.spark.reports.delay import delay
from mqctl.spark.scan.planning import open_store, queue_bounds
from mqctl.spark.scan.remote import AT_ONCE, begin_look, leave
from mqctl.spark.selection import Selection
from mqctl.store.attached import look_at_each
from tests.spark.async_files import Line, behind_url
from tests.store.builder import StoreBuilder, message

QUEUES = 40


@pytest.fixture(autouse=True)
def _look(tmp_path: Path) -> Iterator[None]:
    begin_look(str(tmp_path))
    yield
    leave()


def many_queues(root: Path) -> Path:
    builder = StoreBuilder()
    for number in range(QUEUES * 3):
        builder.append(message(f"Topic{number % QUEUES:02}", 0))
    for number in range(36):
        properties = {"REAL_TOPIC": "Orders", "REAL_QID": "0"}
        builder.append(message("SCHEDULE_TOPIC_XXXX", number % 18, properties=properties))
    return builder.write(root)


def test_ends_of_queues_are_asked_for_side_by_side_and_say_the_same(tmp_path: Path) -> None:
    store = many_queues(tmp_path / "store")
    line = Line(together=4)
    with behind_url(store, line) as url:
        assert queue_bounds(open_store(url)) == queue_bounds(open_store(str(store)))
    assert 4 <= line.most <= AT_ONCE


def test_a_library_that_takes_one_request_at_a_time_gets_one(tmp_path: Path) -> None:
    store = many_queues(tmp_path / "store")
    line = Line()
    with behind_url(store, line, is_async=False) as url:
        assert len(queue_bounds(open_store(url))) == QUEUES + 18
    assert line.most == 1


def test_the_end_of_the_log_and_delay_levels_are_found_alike(tmp_path: Path) -> None:
    store = many_queues(tmp_path / "store")
    line = Line()
    with behind_url(store, line) as url:
        assert open_store(url).log_end_hint() == open_store(str(store)).log_end_hint()
        here, there = (
            delay(PlainEngine(), Selection((each,)), at_ms=None, bucket_ms=1_000) for each in (str(store), url)
        )
    assert repr(there) == repr(here).replace(str(store), url)
    assert 1 < line.most <= AT_ONCE


def test_a_queue_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    store = many_queues(tmp_path / "store")
    line = Line()
    with behind_url(store, line) as url:
        opened = open_store(url)
        (store / "consumequeue" / "Topic07" / "0" / f"{0:020}").write_bytes(b"")
        with pytest.raises(StorageError, match="consumequeue/Topic07/0"):
            queue_bounds(opened)
    assert line.now == 0


def test_a_local_store_is_looked_at_in_turn(tmp_path: Path) -> None:
    looks: list[int] = []

    def look(number: int) -> int:
        looks.append(number)
        return -number

    assert look_at_each(tmp_path, look, range(5)) == [0, -1, -2, -3, -4]
    assert looks == [0, 1, 2, 3, 4]
