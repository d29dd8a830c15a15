"""Faults of offsets, topics, configuration and clocks, injected into a store's files and named from them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.finding import Finding, Severity
from mqctl.rules import diagnose
from mqctl.snapshot.store.gatherer import gather_store
from tests.store.builder import StoreBuilder, message

Stores = Callable[[str], Path]
CLEAN, RECOVERED, ROLLED = "store-clean", "store-killed-recovered-clean", "store-rolled-clean"
START = 1_795_218_000_000


def findings(root: Path, *only: str, at_ms: int | None = None) -> list[Finding]:
    return list(diagnose(gather_store(root, at_ms=at_ms), only=only).findings)


def numbers(finding: Finding) -> dict[str, object]:
    return {item.name: item.value for item in finding.evidence}


def edit(root: Path, name: str, pattern: str, text: str) -> None:
    """Changes a configuration file that must contain `pattern`."""
    file = root / "config" / name
    changed, count = re.subn(pattern, text, file.read_text())
    assert count, f"{pattern} is not in {name}"
    file.write_text(changed)


def plain_store(root: Path, *, times_ms: list[int], offsets: str = "", topics: str = "", groups: str = "") -> Path:
    """Messages of topic Pay, queue 0, stored at `times_ms`, and the three configuration tables as given."""
    builder = StoreBuilder()
    for number, time_ms in enumerate(times_ms):
        builder.append(message("Pay", properties={"KEYS": f"k{number}"}, store_time_ms=time_ms))
    builder.write(root)
    for name, table, text in (
        ("consumerOffset.json", "offsetTable", offsets),
        ("topics.json", "topicConfigTable", topics),
        ("subscriptionGroup.json", "subscriptionGroupTable", groups),
    ):
        (root / "config" / name).write_text(f'{{"{table}":{{{text}}}}}')
    return root


@pytest.mark.parametrize(
    ("offset", "code", "name", "value"),
    [(2_000, "MQ404", "beyond_count", 500), (1_500, None, "", 0)],
)
def test_an_offset_beyond_the_queue(offset: int, code: str | None, name: str, value: int, store_copy: Stores) -> None:
    root = store_copy(ROLLED)
    edit(root, "consumerOffset.json", r"0:1500", f"0:{offset}")
    by_code = findings(root, "MQ402", "MQ404")
    assert [item.code for item in by_code] == ([code] if code else [])
    assert [numbers(item)[name] for item in by_code] == ([value] if code else [])


def test_deleted_files_make_an_offset_expire(store_copy: Stores, full_golden: Path) -> None:
    root = store_copy(ROLLED)
    text = (full_golden / "rocketmq-4.9.8/mqadmin_g/h_topicStatus_deleted.out").read_text()
    recorded = [int(line.split()[2]) for line in text.splitlines() if line.startswith("broker-a")]
    for name in ("00000000000000000000", "00000000000001048576", "00000000000002097152"):
        (root / "commitlog" / name).unlink()
    queues = gather_store(root).brokers[0].queue_index()
    assert [queues[("TopicRoll", number)].min_offset for number in (0, 1)] == recorded
    edit(root, "consumerOffset.json", r"0:1500", "0:1000")
    (finding,) = findings(root, "MQ402")
    assert numbers(finding)["lost_count"] == recorded[0] - 1_000
    assert finding.subject.group == "GC_roll"


def test_a_backlog_is_as_old_as_its_next_message(tmp_path: Path) -> None:
    root = plain_store(tmp_path, times_ms=[START, START + 60_000, START + 120_000], offsets='"Pay@G":{0:1}')
    (finding,) = findings(root, "MQ401", at_ms=START + 60_000 + 3_600_000)
    assert numbers(finding) == {"lag_count": 2, "lag_ms": 3_600_000, "queue_count": 1}
    assert finding.severity == "error"
    (quarter,) = findings(root, "MQ401", at_ms=START + 60_000 + 900_000)
    assert quarter.severity == "warning"


def test_queues_beyond_the_read_count_are_unreachable(store_copy: Stores) -> None:
    root = store_copy(RECOVERED)
    topics = (root / "config" / "topics.json").read_text()
    assert '"TopicKill"' in topics
    document = json.loads(topics)
    document["topicConfigTable"]["TopicKill"]["readQueueNums"] = 2
    (root / "config" / "topics.json").write_text(json.dumps(document))
    (finding,) = findings(root, "MQ60*")
    assert (finding.code, finding.params["queues"]) == ("MQ601", "2, 3")
    queues = gather_store(root).brokers[0].queue_index()
    assert numbers(finding)["message_count"] == sum(queues[("TopicKill", n)].message_count for n in (2, 3))


def test_a_disabled_group_and_a_closed_topic(store_copy: Stores) -> None:
    root = store_copy(RECOVERED)
    groups = json.loads((root / "config" / "subscriptionGroup.json").read_text())
    groups["subscriptionGroupTable"]["GC_kill"]["consumeEnable"] = False
    (root / "config" / "subscriptionGroup.json").write_text(json.dumps(groups))
    topics = json.loads((root / "config" / "topics.json").read_text())
    topics["topicConfigTable"]["TopicKill"]["perm"] = 2
    (root / "config" / "topics.json").write_text(json.dumps(topics))
    assert {(item.code, str(item.subject)) for item in findings(root, "MQ408", "MQ603")} == {
        ("MQ408", "GC_kill"),
        ("MQ603", "TopicKill"),
    }


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json"])
def test_a_configuration_cut_in_the_middle_falls_back_or_is_lost(name: str, store_copy: Stores) -> None:
    root = store_copy(RECOVERED)
    file = root / "config" / name
    text = file.read_bytes()
    backup = file.with_name(f"{name}.bak")
    backup.write_bytes(text)
    file.write_bytes(text[: len(text) // 2])
    (on_backup,) = findings(root, "MQ106")
    assert (on_backup.variant, on_backup.subject.file) == ("backup", f"config/{name}")
    backup.write_bytes(b"")
    (lost,) = findings(root, "MQ106")
    assert lost.variant == "none"
    assert "unparsable" in str(lost.params["problem"])


def test_dead_letters_that_nobody_can_read(tmp_path: Path) -> None:
    builder = StoreBuilder()
    builder.append(message("%DLQ%G", store_time_ms=START))
    builder.write(tmp_path)
    (tmp_path / "config" / "topics.json").write_text(
        '{"topicConfigTable":{"%DLQ%G":{"topicName":"%DLQ%G","readQueueNums":1,"writeQueueNums":1,"perm":2}}}'
    )
    by_code = findings(tmp_path, "MQ4*", "MQ6*")
    assert {item.code for item in by_code} == {"MQ406", "MQ407"}


def test_clocks_of_producers_and_broker(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number, time_ms in enumerate((START, START + 9_000, START + 2_000, START + 3_000)):
        ahead = 20_000 if number == 3 else 0
        item = message("Pay", store_time_ms=time_ms)
        builder.append(replace(item, born_time_ms=time_ms + ahead))
    builder.write(tmp_path)
    by_variant = {item.variant: numbers(item) for item in findings(tmp_path, "MQ107")}
    assert by_variant["producer"]["max_born_ahead_ms"] == 20_000
    assert by_variant["broker"]["max_step_back_ms"] == 7_000
    assert by_variant["broker"]["step_back_count"] == 1


def test_one_key_that_fills_a_queue(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number in range(1_200):
        hot = number % 6 != 0
        key = "seller-7" if hot else f"k{number}"
        builder.append(message("Pay", 0 if hot else number // 6 % 3 + 1, properties={"KEYS": key}, store_time_ms=START))
    builder.write(tmp_path)
    (finding,) = findings(tmp_path, "MQ301")
    assert (finding.variant, finding.params["key"], finding.subject.queue_id) == ("key", "seller-7", 0)
    assert numbers(finding)["message_count"] == 1_000


def test_damage_in_the_commit_log_is_fatal_and_named_once(store_copy: Stores) -> None:
    root = store_copy(ROLLED)
    with (root / "commitlog" / "00000000000001048576").open("r+b") as file:
        file.seek(200_000)
        file.write(b"\xff" * 40)
    by_code = findings(root, "MQ104")
    assert by_code
    assert {item.severity for item in by_code} == {"fatal"}
    assert "commitlog/00000000000001048576" in {item.subject.file for item in by_code}


def gone(root: Path) -> list[tuple[str, str, object, object]]:
    """Returns what is said of queues whose files are gone, and of delayed messages that were never delivered."""
    named = findings(root, "MQ103", "MQ104", "MQ717")
    return [(f.code, f.variant or "", f.params.get("queues"), numbers(f).get("deviation_count")) for f in named]


def test_queues_whose_files_are_gone_are_named_and_nothing_else_is_made_of_it(store_copy: Stores) -> None:
    root = store_copy(RECOVERED)
    folder = root / "consumequeue" / "TopicKill"
    shutil.rmtree(folder / "1")
    assert gone(root) == [("MQ104", "gone", "1", 295)]
    shutil.rmtree(folder)
    assert gone(root) == [("MQ104", "gone", "0, 1, 2, 3", 1_178)]
    # The topic was changed after its messages came: it may have been made anew, too.
    edit(root, "topics.json", r'"timestamp":\d+', '"timestamp":1795300000000')
    assert gone(root) == [("MQ104", "gone-or-anew", "0, 1, 2, 3", 1_178)]
    # It was deleted.
    edit(root, "topics.json", '"TopicKill":', '"Another":')
    assert gone(root) == []


def test_a_broker_that_went_on_without_a_queues_files_shows_it_still(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number in range(20):
        builder.append(message("Pay", number % 2, store_time_ms=START + number))
    builder.write(tmp_path)
    table = '"Pay":{"topicName":"Pay","readQueueNums":2,"writeQueueNums":2}'
    (tmp_path / "config" / "topics.json").write_text(f'{{"topicConfigTable":{{{table}}}}}')
    queue = next((tmp_path / "consumequeue" / "Pay" / "1").iterdir())
    entries = queue.read_bytes()
    queue.write_bytes(entries[160:200] + bytes(len(entries) - 40))  # made anew by the last two messages
    assert ("MQ104", "gone", "1", 8) in gone(tmp_path)


def test_queues_without_files_that_lack_nothing(store_copy: Stores) -> None:
    root = store_copy(ROLLED)
    topics = json.loads((root / "config" / "topics.json").read_text())
    roll = topics["topicConfigTable"]["TopicRoll"]
    roll["readQueueNums"] = roll["writeQueueNums"] = 8  # raised, and nothing was sent to the new ones
    topics["topicConfigTable"]["Quiet"] = {**roll, "topicName": "Quiet"}  # never written to
    (root / "config" / "topics.json").write_text(json.dumps(topics))
    for name in ("00000000000000000000", "00000000000001048576"):  # retention
        (root / "commitlog" / name).unlink()
    shutil.rmtree(root / "consumequeue" / "TopicRoll" / "7", ignore_errors=True)
    assert gone(root) == []


def test_a_store_without_its_commit_log_says_so_once(store_copy: Stores) -> None:
    root = store_copy(ROLLED)
    for file in (root / "commitlog").iterdir():
        file.unlink()
    (finding,) = findings(root)
    assert (finding.code, finding.variant, numbers(finding)["deviation_count"]) == ("MQ104", "no-log", 9_500)
    for part in ("consumequeue", "index"):  # nothing leads there any more; the checkpoint knows of messages
        shutil.rmtree(root / part)
    (root / "consumequeue").mkdir()
    diagnosis = diagnose(gather_store(root))
    assert {gap.code for gap in diagnosis.not_judged if "no commit log" in str(gap)} >= {"MQ103", "MQ104"}


def test_a_store_that_was_never_written_to_has_no_commit_log_by_rights(tmp_path: Path) -> None:
    for part in ("commitlog", "consumequeue", "config"):
        (tmp_path / part).mkdir()
    (tmp_path / "config" / "topics.json").write_text('{"topicConfigTable":{"Pay":{"topicName":"Pay"}}}')
    assert gone(tmp_path) == []
    assert not [gap for gap in diagnose(gather_store(tmp_path)).not_judged if "commit log" in str(gap)]


@pytest.mark.parametrize(
    ("name", "kept_bytes", "variant"),
    [
        ("00000000000003145728", 1_048_576, None),
        ("00000000000003145728", 1_000_000, "size"),
        ("", 1_000_000, "cut"),
        ("", 192 * 4_096, "cut"),
    ],
)
def test_a_commit_log_file_of_another_length(
    name: str, kept_bytes: int, variant: str | None, store_copy: Stores
) -> None:
    root = store_copy(ROLLED)
    last = root / "commitlog" / "00000000000003145728"
    if not name:  # only one is left, as retention leaves it
        for file in (root / "commitlog").iterdir():
            if file != last:
                file.unlink()
    os.truncate(last, kept_bytes)
    named = findings(root, "MQ104")
    assert [(item.variant, item.subject.file) for item in named] == (
        [(variant, f"commitlog/{last.name}")] if variant else []
    )


@pytest.mark.parametrize(("mib", "said"), [(7, ["odd"]), (4, []), (8, [])])
def test_a_sole_commit_log_file_of_odd_whole_mebibytes_is_told(mib: int, said: list[str], store_copy: Stores) -> None:
    """Somebody may have set brokers to it, and a cut to a power of two cannot be told from a setting."""
    root = store_copy(CLEAN)
    os.truncate(root / "commitlog" / "00000000000000000000", mib << 20)
    named = findings(root, "MQ104")
    assert [item.variant for item in named] == said
    assert {item.severity for item in named} <= {Severity.INFO}


def test_without_consume_queues_delays_and_transactions_are_not_judged(store_copy: Stores) -> None:
    root = store_copy(RECOVERED)
    shutil.rmtree(root / "consumequeue")
    diagnosis = diagnose(gather_store(root))
    assert not [item.code for item in diagnosis.findings if item.code.startswith("MQ7")]
    assert {"MQ701", "MQ717", "MQ720"} <= {gap.code for gap in diagnosis.not_judged}
