"""Stores on a disk that fails here and there: what it refuses is named, once, and the rest is judged as ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.store.builder import StoreBuilder, message

COUNT = 900
Fault = tuple[Path, int, int]


def built(root: Path) -> Path:
    """A store with three queues, an index and offsets; its log is one file of sixty pages."""
    builder = StoreBuilder(commit_log_file_bytes=1 << 18, queue_file_entries=1_000)
    for number in range(COUNT):
        keys = {"KEYS": f"k{number}", "TAGS": "TagA"}
        builder.append(message("Pay", number % 3, bytes(100), keys, store_time_ms=1_795_218_000_000 + number))
    builder.write(root)
    topic = {"perm": 6, "readQueueNums": 3, "writeQueueNums": 3, "topicName": "Pay"}
    offsets = {"Pay@G": {str(number): COUNT // 3 for number in range(3)}}
    for name, table in (
        ("topics.json", {"topicConfigTable": {"Pay": topic}}),
        ("consumerOffset.json", {"offsetTable": offsets}),
        ("subscriptionGroup.json", {"subscriptionGroupTable": {"G": {"groupName": "G"}}}),
        ("delayOffset.json", {"offsetTable": {}}),
    ):
        (root / "config").mkdir(exist_ok=True)
        (root / "config" / name).write_text(json.dumps(table))
    return root


def asked(faults: Sequence[Fault], *words: str) -> tuple[int, Any]:
    """Runs a command on the failing disk; returns its exit code and its JSON."""
    places = json.dumps([(str(path), low, high) for path, low, high in faults])
    done = subprocess.run(
        (sys.executable, "-m", "tests.store.failing_disk", places, *words, "-o", "json"),
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def damages(document: Any) -> list[tuple[str, str, int | None]]:
    return [
        (each["code"], each["file"], each["offset"]) for each in document["deviations"] if each["grade"] == "damage"
    ]


@cache
def sound(root: Path) -> set[tuple[str, str]]:
    """What doctor says of the store on a disk that works."""
    _, document = asked((), "doctor", "--store", str(root))
    return {(each["code"], json.dumps(each["subject"])) for each in document["findings"]}


def more_findings(root: Path, faults: Sequence[Fault]) -> list[str]:
    """Codes of what doctor finds on the failing disk and not on one that works."""
    _, document = asked(faults, "doctor", "--store", str(root))
    return [
        each["code"] for each in document["findings"] if (each["code"], json.dumps(each["subject"])) not in sound(root)
    ]


@pytest.mark.quick
def test_pages_of_the_log_are_named_and_the_rest_is_verified(tmp_path: Path) -> None:
    root = built(tmp_path)
    (log,) = (root / "commitlog").iterdir()
    faults = [(log, 0, 1), (log, 40_000, 40_001), (log, 120_000, 125_000)]
    code, document = asked(faults, "store", "verify", "--store", str(root))
    assert code == 2
    pages = sorted(offset or 0 for _, _, offset in damages(document))
    assert {what for what, _, _ in damages(document)} == {"unreadable_file"}
    assert pages == [0, 36_864, 118_784]
    assert COUNT - 120 < document["summary"]["record_count"] < COUNT - 60
    assert document["summary"]["queue_entry_count"] == COUNT
    assert more_findings(root, faults) == ["MQ104"]


def test_a_second_look_of_the_same_process_finds_what_the_first_found(tmp_path: Path) -> None:
    root = built(tmp_path)
    (log,) = (root / "commitlog").iterdir()
    places = json.dumps([(str(log), 40_000, 40_001), (str(log), 120_000, 125_000)])
    words = ("store", "verify", "--store", str(root), "-o", "ndjson")
    done = subprocess.run(
        (sys.executable, "-m", "tests.store.failing_disk", places, *words),
        cwd=REPOSITORY, env={**os.environ, "MQCTL_TEST_TWICE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    first, second = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    assert (done.returncode, done.stderr) == (2, "")
    assert sum('"unreadable_file"' in line for line in first) == 2
    assert second == first


def test_a_disk_that_fails_all_over_a_file_is_left_after_the_first_places(tmp_path: Path) -> None:
    root = built(tmp_path)
    (log,) = (root / "commitlog").iterdir()
    log.write_bytes(log.read_bytes().ljust(1 << 20, b"\0"))
    code, document = asked([(log, 65_536, 1 << 20)], "store", "verify", "--store", str(root))
    refused = [each for each in document["deviations"] if each["grade"] == "damage"]
    assert code == 2
    assert {each["code"] for each in refused} == {"unreadable_file"}
    first, rest = sorted(refused, key=lambda each: each["offset"])
    assert (first["offset"], first["length_bytes"]) == (65_536, 64 * 4_096)
    assert rest["offset"] + rest["length_bytes"] == 1 << 20
    assert "too many places" in rest["details"]
    assert 300 < document["summary"]["record_count"] < 350


@pytest.mark.parametrize(
    ("part", "named"),
    [("consumequeue/Pay/1", "consumequeue/Pay/1"), ("index", "index/")],
)
def test_files_that_are_refused_say_nothing_of_what_they_held(tmp_path: Path, part: str, named: str) -> None:
    root = built(tmp_path)
    victim = next((root / part).iterdir())
    code, document = asked([(victim, 0, 8_000)], "store", "verify", "--store", str(root))
    ((what, file, _),) = damages(document)
    assert (code, what) == (2, "unreadable_file")
    assert file.startswith(named)
    assert document["summary"]["record_count"] == COUNT
    assert more_findings(root, [(victim, 0, 8_000)]) == ["MQ104"]


def test_what_a_refused_queue_would_tell_is_not_judged(tmp_path: Path) -> None:
    root = built(tmp_path)
    victim = next((root / "consumequeue/Pay/1").iterdir())
    code, document = asked([(victim, 0, 8_000)], "doctor", "--store", str(root))
    assert code == 2
    assert "MQ404" not in {each["code"] for each in document["findings"]}
    assert "MQ404" in {each["code"] for each in document["not_judged"]}


@pytest.mark.parametrize("report", ["skew", "order", "duplicates", "tags", "capacity"])
def test_a_report_counts_what_the_disk_gives_and_names_the_rest(tmp_path: Path, report: str) -> None:
    root = built(tmp_path)
    (log,) = (root / "commitlog").iterdir()
    places = json.dumps([(str(log), 40_000, 40_001), (str(log), 120_000, 125_000)])
    words = ("report", report, "--no-spark", "--store", str(root), "-o", "json")
    done = subprocess.run(
        (sys.executable, "-m", "tests.store.failing_disk", places, *words),
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    part, why = f"commitlog/{log.name}", "Input/output error at bytes 36,864 to 40,960, bytes 118,784 to 126,976"
    assert done.returncode == 74
    assert f"{part} is not read (12,288 bytes): {why}" in done.stderr
    made = json.loads(done.stdout)["report"]
    assert [(each["part"], each["reason"], each["bytes"]) for each in made["unread"]] == [(part, why, 12_288)]
    ((read,), (topic,)) = made["read"], (each for each in made["topics"] if each["topic"] == "Pay")
    assert COUNT - 80 < topic["messages"] == read["messages"] < COUNT - 50
