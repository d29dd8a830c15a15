"""A delayOffset.json ahead of messages that were never delivered: told, and taken back by the repair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.snapshot.test_delay_faults import SCHEDULE, START, record
from tests.store.builder import StoreBuilder, message

Run = Callable[..., Outcome]
AT = ("--at", START + 60_000)


def level_three(root: Path, offset: int, *, count: int = 5, delivered: tuple[int, ...] = ()) -> Path:
    """Messages of level 3 for a topic that is there, some of them delivered; the offset table says `offset`."""
    builder = StoreBuilder()
    for number in range(count):
        own = {"REAL_TOPIC": "Pay", "REAL_QID": "0", "DELAY": "3", "UNIQ_KEY": f"K{number}"}
        stored = builder.append(message(SCHEDULE, 2, properties=own, store_time_ms=START + number))
        last = (stored.physical_offset, stored.size_bytes, stored.store_time_ms + 10_000)
        builder.entries[(SCHEDULE, 2)][-1] = last
    for number in delivered:
        copy = message("Pay", 0, properties={"UNIQ_KEY": f"K{number}"}, store_time_ms=START + 10_000 + number)
        builder.append(replace(copy, born_time_ms=START + number))
    builder.write(root)
    (root / "config").mkdir(exist_ok=True)
    topics = {"topicConfigTable": {"Pay": {"topicName": "Pay", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}}}
    (root / "config" / "topics.json").write_text(json.dumps(topics))
    return record(root, {3: offset})


@pytest.mark.parametrize("offset", [5, 9])
def test_a8_an_offset_ahead_of_undelivered_messages_is_told_and_repaired(
    mqctl: Run, tmp_path: Path, offset: int
) -> None:
    store = level_three(tmp_path / "store", offset)
    check = mqctl("delay", "check", "--store", store, *AT, "-o", "json")
    findings = {item["code"]: item for item in check.json["diagnosis"]["findings"]}
    assert check.exit_code == 2
    assert findings["MQ717"]["evidence"] == {
        "lost_count": 5,
        "recorded_offset": offset,
        "first_offset": 0,
        "unseen_count": 0,
    }
    plan = mqctl("delay", "repair", "--store", store, *AT, "-o", "json")
    (step,) = plan.json["steps"]
    assert (step["subject"], step["old"], step["new"]) == ("level 3", str(offset), "0")
    assert "5 messages not delivered so far will be" in step["effect"]
    report = mqctl("report", "delay", "--no-spark", "--store", store, *AT, "-o", "json")
    (level,) = report.json["report"]["levels"]
    assert (level["passed_over"], level["offset_state"]) == (5, "ahead" if offset == 5 else "beyond")
    said = mqctl("report", "delay", "--no-spark", "--store", store, *AT)
    assert f"5 messages before the recorded offset {offset} were never delivered." in said.stdout


def test_a8_what_was_delivered_is_not_passed_over_and_counts_as_again(mqctl: Run, tmp_path: Path) -> None:
    fine = level_three(tmp_path / "fine", 5, delivered=(0, 1, 2, 3, 4))
    assert mqctl("delay", "check", "--store", fine, *AT).exit_code == 0
    assert mqctl("delay", "repair", "--store", fine, *AT, "-o", "json").json["state"] == "nothing-to-do"
    (level,) = mqctl("report", "delay", "--no-spark", "--store", fine, *AT, "-o", "json").json["report"]["levels"]
    assert (level["passed_over"], level["offset_state"]) == (0, "ok")
    holed = level_three(tmp_path / "holed", 5, delivered=(0, 2, 4))
    (step,) = mqctl("delay", "repair", "--store", holed, *AT, "-o", "json").json["steps"]
    assert (step["old"], step["new"]) == ("5", "1")
    assert "2 messages not delivered so far will be; 2 messages delivered again" in step["effect"]


def test_a8_nothing_is_said_of_messages_whose_topic_was_deleted(mqctl: Run, tmp_path: Path) -> None:
    store = level_three(tmp_path / "store", 5)
    (store / "config" / "topics.json").write_text('{"topicConfigTable":{}}')
    check = mqctl("delay", "check", "--store", store, *AT, "-o", "json")
    assert [item["code"] for item in check.json["diagnosis"]["findings"]] == []


def test_what_was_passed_over_long_ago_is_told_although_much_came_since(mqctl: Run, tmp_path: Path) -> None:
    """The offset was ahead once; the broker went on from there, and 600 messages were delivered."""
    came = 605
    store = level_three(tmp_path / "store", came, count=came, delivered=tuple(range(5, came)))
    check = mqctl("delay", "check", "--store", store, *AT, "-o", "json")
    (finding,) = (item for item in check.json["diagnosis"]["findings"] if item["code"] == "MQ717")
    assert (finding["evidence"]["lost_count"], finding["evidence"]["first_offset"]) == (5, 0)


def test_how_many_older_messages_were_not_looked_at_is_said(mqctl: Run, tmp_path: Path) -> None:
    came = 17_000
    delivered = (*range(16_990), *range(16_995, came))
    store = level_three(tmp_path / "store", came, count=came, delivered=delivered)
    check = mqctl("delay", "check", "--store", store, *AT)
    (line,) = (line for line in check.stdout.splitlines() if "At least 5 messages on level 3" in line)
    (unseen,) = re.findall(r"([\d,]+) older messages are not looked at", line)
    assert 0 < int(unseen.replace(",", "")) < came - 8_192
