"""Every command with `--store` on stores of which one file is none, or cannot be read: it is named, the rest judged.

`python -m tests.commands.odd_files` crosses all kinds with all places.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.odd_files import KINDS, MESSAGES, PLACES, QUEUES, WAITING, OddFiles, opened
from tests.forked_commands import possible

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not possible(), reason="commands cannot be forked here")]
_LOG_FILES = 8
CROSSED = (("link to itself", "log"), ("cut while read", "last log"))
FURTHER = (("EIO in a page", "log"), ("pipe", "last of a queue"), ("directory", "timer log"))
OF_LAG = ("group lag",)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OddFiles]:
    with opened(tmp_path_factory.mktemp("odd")) as odd:
        yield odd


@pytest.mark.parametrize(
    ("kind", "place"), [*CROSSED, *(pytest.param(*pair, marks=pytest.mark.long) for pair in FURTHER)]
)
def test_every_command_names_the_file(odd: OddFiles, kind: str, place: str) -> None:
    before = len(odd.problems)
    odd.cross(kind, place)
    assert odd.problems[before:] == []


def test_an_index_of_a_terabyte_is_named(odd: OddFiles) -> None:
    before = len(odd.problems)
    odd.cross("terabyte", "index", ("doctor", "store verify", "transaction list"))
    assert odd.problems[before:] == []


def test_an_index_that_goes_away_ends_nothing(odd: OddFiles) -> None:
    before = len(odd.problems)
    odd.cross("gone while read", "index", ("doctor", "store verify", "transaction list"))
    assert odd.problems[before:] == []


def rows_of_lag(document: Any) -> dict[int, Any]:
    return {row["queue_id"]: row for row in document["queues"] if row["topic"] == "Orders"}


@pytest.mark.parametrize("kind", ["link to itself", "EIO", "directory"])
def test_lag_of_the_other_queues_is_told_as_ever(odd: OddFiles, kind: str) -> None:
    outcome = odd.cross(kind, "last of a queue", OF_LAG)["group lag"]
    sound = rows_of_lag(odd.sound("group lag", odd.lines(OF_LAG)["group lag"]).json)
    assert len(sound) == QUEUES
    rows = rows_of_lag(outcome.json)
    assert outcome.exit_code == 74
    assert "consumequeue/Orders/2/00000000000000004000" in outcome.stderr
    assert {queue: row for queue, row in rows.items() if queue != 2} == {
        queue: row for queue, row in sound.items() if queue != 2
    }
    assert 2 not in rows or rows[2]["lag_count"] is None


@pytest.mark.parametrize("kind", ["link to itself", "pipe", "directory", "socket", "link to nowhere"])
def test_the_rest_of_the_log_is_verified_and_counted(odd: OddFiles, kind: str) -> None:
    ran = odd.cross(kind, "log", ("store verify", "report skew"))
    verified, counted = ran["store verify"], ran["report skew"]
    damages = [each for each in verified.json["deviations"] if each["grade"] == "damage"]
    assert (verified.exit_code, counted.exit_code) == (2, 74)
    assert {each["code"] for each in damages} == {"unreadable_file", "commit_log_gap"}
    messages = verified.json["summary"]["record_count"]
    assert MESSAGES * (_LOG_FILES - 2) // _LOG_FILES < messages < MESSAGES
    assert sum(each["messages"] for each in counted.json["report"]["topics"] if each["topic"] == "Orders") < MESSAGES
    assert [each["part"] for each in counted.json["report"]["unread"]] == [PLACES["log"]]


@pytest.mark.parametrize("name", ["delay levels", "delay check", "report delay"])
def test_timers_are_not_none_where_their_log_is_a_directory(odd: OddFiles, name: str) -> None:
    sound = odd.sound(name, odd.lines((name,))[name])
    assert f'"waiting_count": {WAITING}' in sound.stdout or f'"waiting": {WAITING}' in sound.stdout
    outcome = odd.cross("directory", "timer log", (name,))[name]
    assert outcome.exit_code in (3, 74)
    assert PLACES["timer log"] in outcome.stdout + outcome.stderr


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_all_kinds_in_each_place(odd: OddFiles, place: str) -> None:
    before = len(odd.problems)
    for kind in KINDS:
        odd.cross(kind, place)
    assert odd.problems[before:] == []


@pytest.mark.long
def test_on_spark(tmp_path: Path) -> None:
    with opened(tmp_path, on_spark=True) as odd:
        for kind, place in (("link to itself", "log"), ("EIO in a page", "log"), ("directory", "timer log")):
            odd.cross(kind, place, ("report skew", "report delay", "report order"))
        assert odd.problems == []
