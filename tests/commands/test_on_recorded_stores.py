"""Commands on the recorded stores, through the command line: answers, exit codes, and that nothing is written."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.schemas import LIVE, SCHEMAS
from mqctl.text import encoded
from tests.argv import lines_without_argv
from tests.conftest import GOLDEN, Outcome
from tests.keys import sentences_without_key

Run = Callable[..., Outcome]
Store = Callable[[str], Path]
STORES = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]


def codes(outcome: Outcome) -> set[str]:
    return {finding["code"] for finding in outcome.json["findings"]}


def fingerprint(root: Path) -> dict[str, tuple[str, int, int]]:
    """Content, size and times of every file below `root`."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_size,
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
    }


def test_the_killed_store_shows_its_state(mqctl: Run, golden_store: Store) -> None:
    outcome = mqctl("doctor", "--store", golden_store("store-killed"), "-o", "json")
    assert outcome.exit_code == 1
    assert {"MQ101", "MQ102", "MQ103"} <= codes(outcome)
    (behind,) = [finding for finding in outcome.json["findings"] if finding["code"] == "MQ103"]
    assert (behind["subject"], behind["evidence"]["missing_count"]) == ("TopicKill/2", 1)
    assert "MQ104" not in codes(outcome)


def test_the_recovered_store_is_clean(mqctl: Run, golden_store: Store) -> None:
    outcome = mqctl("doctor", "--store", golden_store("store-killed-recovered-clean"), "-o", "json")
    assert outcome.exit_code == 0
    assert not codes(outcome) & {"MQ101", "MQ102", "MQ103", "MQ104", "MQ105"}


def test_a_healthy_store_is_silent(mqctl: Run, golden_store: Store) -> None:
    outcome = mqctl("doctor", "--store", golden_store("store-rolled-clean"))
    assert outcome.exit_code == 0
    assert "OK: 0 findings" in outcome.stdout


def test_a_store_in_rocksdb_is_unknown_not_empty_without_the_library(
    mqctl: Run, golden_store: Store, without_rocksdict: dict[str, str]
) -> None:
    store = golden_store("store-5.3.3-rocksdb-auth")
    outcome = mqctl("doctor", "--store", store, "-o", "json", env=without_rocksdict)
    assert outcome.exit_code == 3
    assert any("RocksDB" in gap["reason"] for gap in outcome.json["not_judged"])
    assert all("mqctl[rocksdb]" in gap["reason"] for gap in outcome.json["not_judged"])
    lag = mqctl("group", "lag", "--store", store, env=without_rocksdict)
    assert (lag.exit_code, "RocksDB" in lag.stderr) == (74, True)
    assert mqctl("store", "verify", "--store", store, env=without_rocksdict).exit_code == 3


@pytest.mark.parametrize(
    "name",
    [
        *("store-killed", "store-5.3.3", "store-5.3.3-rocksdb-auth"),
        *(pytest.param(name, marks=pytest.mark.long) for name in STORES if name not in ("store-killed", "store-5.3.3")),
    ],
)
def test_no_command_changes_the_store(mqctl: Run, store_copy: Store, tmp_path: Path, name: str) -> None:
    store = store_copy(name)
    before = fingerprint(store)
    for words in (
        ["doctor"],
        ["store", "describe"],
        ["store", "verify"],
        ["group", "lag", "--all"],
        ["delay", "check"],
        ["snapshot", "save", tmp_path / "s.snap"],
        ["store", "cat", "-t", "TopicTest", "-q", "0"],
    ):
        assert mqctl(*words, "--store", store).exit_code in {0, 1, 2, 3, 66, 74}
    assert fingerprint(store) == before


@pytest.mark.parametrize("name", STORES)
def test_a_saved_snapshot_gives_the_same_findings(mqctl: Run, golden_store: Store, tmp_path: Path, name: str) -> None:
    store, file = golden_store(name), tmp_path / "s.snap"
    live = mqctl("doctor", "--store", store, "-o", "json")
    assert mqctl("snapshot", "save", "--store", store, file).exit_code == 0
    saved = mqctl("doctor", "--snapshot", file, "-o", "json")
    assert saved.exit_code == live.exit_code
    commands = dict.fromkeys(
        name for kind in ("next", "playbook") for name in (f"{kind}_command", f"{kind}_command_argv")
    )
    without_commands = [{**finding, **commands} for finding in saved.json["findings"]]
    assert without_commands == [{**finding, **commands} for finding in live.json["findings"]]
    assert mqctl("snapshot", "save", "--store", store, file).exit_code == 76
    assert mqctl("snapshot", "show", file).exit_code == 0


def test_lag_by_count_and_time(mqctl: Run, golden_store: Store) -> None:
    outcome = mqctl("group", "lag", "--store", golden_store("store-killed"), "-o", "json")
    assert outcome.exit_code == 0
    totals = {(row["group"], row["topic"]): row for row in outcome.json["groups"]}
    assert totals[("GC_kill", "TopicKill")]["lag_count"] == 510
    assert totals[("GC_killsql", "TopicKill")]["lag_count"] == 665
    assert totals[("GC_kill", "TopicKill")]["lag_ms"] == 2864
    later = mqctl("group", "lag", "--store", golden_store("store-killed"), "-o", "json", "--at", "1795218999243")
    assert "2026-11-20 23:56:39" in later.stderr
    ages = {(row["group"], row["queue_id"]): row["lag_ms"] for row in later.json["queues"]}
    assert min(ages.values()) >= 597_000


def test_unknown_names_end_with_66_and_offer_known_ones(mqctl: Run, golden_store: Store, tmp_path: Path) -> None:
    store = golden_store("store-killed")
    nobody = mqctl("group", "lag", "--store", store, "-g", "nobody")
    assert (nobody.exit_code, "GC_kill" in nobody.stderr) == (66, True)
    assert mqctl("store", "cat", "--store", store, "-t", "nothing", "-q", "0").exit_code == 66
    assert mqctl("doctor", "--store", tmp_path / "absent").exit_code == 66
    assert mqctl("doctor", "--snapshot", tmp_path / "absent.snap").exit_code == 66
    assert mqctl("explain", "MQ999").exit_code == 66
    empty = mqctl("doctor", "--store", tmp_path)
    assert (empty.exit_code, "commitlog" in empty.stderr) == (65, True)


def test_messages_are_found_by_every_name_they_have(mqctl: Run, golden_store: Store) -> None:
    store = golden_store("store-clean")
    (first,) = mqctl("store", "cat", "--store", store, "-t", "TopicTest", "-q", 0, "--count", 1, "-o", "json").json[
        "messages"
    ]
    assert (first["topic"], first["queue_id"], first["queue_offset"]) == ("TopicTest", 0, 0)
    assert (first["body"], first["body_encoding"]) == ("hello 3", "text")
    by_place = mqctl("store", "cat", "--store", store, "--physical-offset", first["physical_offset"], "-o", "json")
    by_id = mqctl("store", "cat", "--store", store, "--id", first["message_id"], "-o", "json")
    by_key = mqctl("store", "cat", "--store", store, "-t", "TopicTest", "--key", first["unique_key"], "-o", "json")
    by_unique = mqctl("store", "cat", "--store", store, "-t", "TopicTest", "--id", first["unique_key"], "-o", "json")
    for outcome in (by_place, by_id, by_key, by_unique):
        assert outcome.json["messages"] == [first]
    as_hex = mqctl("store", "cat", "--store", store, "--id", first["message_id"], "--body", "hex", "-o", "json")
    assert as_hex.json["messages"][0]["body"] == b"hello 3".hex()


def test_a_compressed_body_is_unpacked(mqctl: Run, golden_store: Store) -> None:
    outcome = mqctl(
        "store", "cat", "--store", golden_store("store-clean"), "-t", "TopicBig", "-q", 0, "--count", 1, "-o", "json"
    )
    (message,) = outcome.json["messages"]
    assert message["sys_flag"] & 1
    assert message["body_problem"] is None
    assert message["body_bytes"] > message["size_bytes"]


@pytest.mark.parametrize(
    "words",
    [
        ["store", "cat", "-t", "TopicTest"],
        ["store", "cat", "-q", "0"],
        ["store", "cat", "--physical-offset", "0", "--id", "x"],
        ["doctor", "--only", "MQ9*"],
        ["delay", "check", "--file", "x.json"],
    ],
)
def test_contradicting_options_are_usage_errors(mqctl: Run, golden_store: Store, words: list[str]) -> None:
    outcome = mqctl(*words, "--store", golden_store("store-clean"))
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert "next:" in outcome.stderr


def machine_form(mqctl: Run, golden_store: Store, tmp_path: Path, schema: str) -> Outcome:
    """Runs the command whose machine form is `schema`."""
    store, snapshot = golden_store("store-clean"), tmp_path / "s.snap"
    words: dict[str, list[object]] = {
        "allocation.simulate/1": ["allocation", "simulate", "--queues", 8, "--clients", 3, "--add-clients", 1],
        "commands/1": ["commands"],
        "commands.mqadmin/1": ["commands", "--mqadmin", "all"],
        "delay.check/1": ["delay", "check", "--store", store],
        "delay.plan/1": ["delay", "plan", "--at", "+100min", "--levels", "1s 5s 1m 1h"],
        "delay.repair/1": ["delay", "repair", "--store", store],
        "doctor/1": ["doctor", "--store", store],
        "filter.lint/1": ["filter", "lint", "NOT a = 5", "--bloom"],
        "filter.test/1": ["filter", "test", "a = 5", "--prop", "a=5"],
        "group.lag/1": ["group", "lag", "--store", store],
        "history/1": ["history"],
        "local.scenario.list/1": ["local", "scenario", "list"],
        "local.status/1": ["local", "status"],
        "profile.show/1": ["profile", "show"],
        "replay.list/1": ["replay", "status"],
        "report.capacity/1": ["report", "capacity", "--no-spark", "--store", store],
        "report.delay/1": ["report", "delay", "--no-spark", "--store", store],
        "report.retries/1": ["report", "retries", "--no-spark", "--store", store],
        "report.tags/1": ["report", "tags", "--no-spark", "--store", store],
        "report.transactions/1": ["report", "transactions", "--no-spark", "--store", store],
        "report.duplicates/1": ["report", "duplicates", "--no-spark", "--store", store],
        "report.order/1": ["report", "order", "--no-spark", "--store", store],
        "report.skew/1": ["report", "skew", "--no-spark", "--store", store, "--reshard", 8],
        "playbook.dry-run/1": ["playbook", "run", "backlog", "-p", "group=G", "--dry-run"],
        "playbook.list/1": ["playbook", "list"],
        "playbook.show/1": ["playbook", "show", "backlog"],
        "explain/1": ["explain", "lag"],
        "rules.list/1": ["rules", "list"],
        "version.supported/1": ["version", "--supported"],
        "snapshot.show/1": ["snapshot", "show", snapshot],
        "stacks.dump/1": ["stacks", "dump", "--file", GOLDEN / "dumps" / "java17-jstack-l.txt"],
        "store.cat/1": ["store", "cat", "--store", store, "-t", "TopicTest", "-q", "1"],
        "store.describe/1": ["store", "describe", "--store", store],
        "transaction.show/1": ["transaction", "show", "C00002021CA95FFD2B2766E37F6D0002", "--store", store],
        "version/1": ["--version"],
        "ha.compare/1": ["ha", "compare", "--store", store, "--store", store],
        "store.verify/1": ["store", "verify", "--store", store],
    }
    if schema == "snapshot.show/1":
        mqctl("snapshot", "save", "--store", store, snapshot)
    return mqctl(*words[schema], "-o", "json")


# Each is held beside its test: it needs Spark, a cluster, a recording, a drill, a discarded transaction, or never ends.
ELSEWHERE = {
    "report.backlog/1",
    "report.run/1",
    "report.diff/1",
    "report.reconcile/1",
    "report.trends/1",
    "timeline/1",
    "bench.compare/1",
    "delay.relay/1",
    "drill.verdict/1",
    "message.recall/1",
    "transaction.resume/1",
    "playbook.run/1",
    "local.scenario.run/1",
}


@pytest.mark.parametrize("schema", sorted(SCHEMAS.keys() - LIVE.keys() - ELSEWHERE))
def test_the_machine_form_is_the_documented_one(mqctl: Run, golden_store: Store, tmp_path: Path, schema: str) -> None:
    document = machine_form(mqctl, golden_store, tmp_path, schema).json
    assert document.pop("schema") == schema
    assert lines_without_argv(document) == []
    assert sentences_without_key(document) == []
    value: object = msgspec.convert(document, SCHEMAS[schema])
    assert json.loads(msgspec.json.encode(value, enc_hook=encoded)) == document


@pytest.mark.parametrize("form", ["ndjson", "yaml", "csv", "wide"])
def test_other_formats_hold_the_same_rows(mqctl: Run, golden_store: Store, form: str) -> None:
    words = ["group", "lag", "--store", golden_store("store-clean")]
    rows = mqctl(*words, "-o", "json").json["queues"]
    text = mqctl(*words, "-o", form).stdout
    if form == "ndjson":
        assert [{k: v for k, v in json.loads(line).items() if k != "schema"} for line in text.splitlines()] == rows
    elif form == "csv":
        listed: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(text)))
        assert [row["consumer_offset"] for row in listed] == [
            "" if row["consumer_offset"] is None else str(row["consumer_offset"]) for row in rows
        ]
    else:
        assert "GC_order" in text


def test_an_empty_answer_is_an_empty_list(mqctl: Run, golden_store: Store) -> None:
    words = ["group", "lag", "--store", golden_store("store-clean"), "-t", "nothing-of-the-kind"]
    outcome = mqctl(*words, "-o", "json")
    assert (outcome.exit_code, outcome.json["groups"], outcome.json["queues"]) == (0, [], [])
    assert mqctl(*words).stdout == "no group has committed offsets there\n"


def test_a_delay_file_by_itself(mqctl: Run, golden_store: Store, tmp_path: Path) -> None:
    recorded = golden_store("store-clean") / "config" / "delayOffset.json"
    outcome = mqctl("delay", "check", "--file", recorded, "-o", "json")
    assert outcome.exit_code == 3
    assert {gap["reason"] for gap in outcome.json["diagnosis"]["not_judged"]} != set()
    assert [row["recorded_offset"] for row in outcome.json["levels"][:4]] == [8, 4, 3, 3]
    short = mqctl("delay", "check", "--file", recorded, "--levels", "1s 5s", "-o", "json")
    assert short.exit_code == 1
    assert {finding["subject"] for finding in short.json["diagnosis"]["findings"]} == {"level 3", "level 4"}
    broken = tmp_path / "delayOffset.json"
    broken.write_text('{"offsetTable":{1:8')
    cut = mqctl("delay", "check", "--file", broken)
    assert (cut.exit_code, "line 1" in cut.stderr) == (65, True)
    assert mqctl("delay", "check", "--file", tmp_path / "none.json").exit_code == 66


def test_offsets_that_cannot_be_read_are_unknown_not_nothing(mqctl: Run, store_copy: Store) -> None:
    store = store_copy("store-killed")
    main, backup = store / "config" / "consumerOffset.json", store / "config" / "consumerOffset.json.bak"
    main.write_bytes(main.read_bytes()[:100])
    behind = mqctl("group", "lag", "--store", store, "-o", "json")
    assert (behind.exit_code, {row["group"] for row in behind.json["groups"]}) == (0, {"GC_kill", "GC_killsql"})
    backup.write_bytes(b"")
    lost = mqctl("group", "lag", "--store", store)
    assert lost.exit_code == 74
    assert "consumer-offsets not read: consumerOffset.json and its backup are of no use" in lost.stderr
    doctor = mqctl("doctor", "--store", store, "-o", "json")
    assert doctor.exit_code == 2
    assert "MQ106" in codes(doctor)
    assert {"MQ401", "MQ402", "MQ404"} <= {gap["code"] for gap in doctor.json["not_judged"]}


@pytest.mark.parametrize("levels", ["bad levels", "1s  5s", "5", "1s 5S", ""])
def test_a_level_table_no_broker_would_take_is_a_usage_error(mqctl: Run, golden_store: Store, levels: str) -> None:
    outcome = mqctl("delay", "check", "--store", golden_store("store-clean"), "--levels", levels)
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert "messageDelayLevel" in outcome.stderr


def test_a_negative_slot_of_an_index_file_is_damage_not_a_crash(mqctl: Run, store_copy: Store) -> None:
    store = store_copy("store-5.3.3")
    (index,) = (store / "index").iterdir()
    data = bytearray(index.read_bytes())
    used = next(at for at in range(40, len(data), 4) if data[at : at + 4] != bytes(4))
    data[used] |= 0x80
    index.write_bytes(data)
    outcome = mqctl("store", "verify", "--store", store, "-o", "json")
    assert outcome.exit_code == 2
    (row,) = (row for row in outcome.json["deviations"] if row["grade"] == "damage")
    assert (row["file"], row["reason_key"]) == (f"index/{index.name}", "store-index-slot-outside")


# Header: begin and end in time, begin and end as physical offset, used slots, entries.
_OFFSETS, _USED, _ENTRIES = (16, "qq"), (32, "i"), (36, "i")


@pytest.mark.parametrize(
    ("place", "numbers", "key", "chinese"),
    [
        (_ENTRIES, (-1,), "store-index-negative-counters", "计数器为负数"),
        (_USED, (-1,), "store-index-negative-counters", "计数器为负数"),
        (_ENTRIES, (2**31 - 1,), "store-index-entries-too-many", "2,147,483,647 个条目超出了文件的容量"),
        (_OFFSETS, (9, 8), "store-index-ends-before-begins", "它的结束在开始之前"),
    ],
)
def test_why_an_index_file_is_damaged_has_a_key(
    mqctl: Run, store_copy: Store, place: tuple[int, str], numbers: tuple[int, ...], key: str, chinese: str
) -> None:
    store = store_copy("store-5.3.3")
    (index,) = (store / "index").iterdir()
    data = bytearray(index.read_bytes())
    struct.pack_into(f">{place[1]}", data, place[0], *numbers)
    index.write_bytes(data)
    words = ("store", "verify", "--store", store)
    (row,) = (row for row in mqctl(*words, "-o", "json").json["deviations"] if row["code"] == "index_header")
    assert row["reason_key"] == key
    assert row["details_values"]["part1"]["values"]["value"]["key"] == key
    assert chinese in mqctl(*words, env={"MQCTL_LANG": "zh"}).stdout
