"""`ha compare`: stores of real and embedded masters and slaves, byte by byte."""

from __future__ import annotations

import json
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqctl.commands.ha.compare_rows import StoreComparison
from mqctl.commands.ha.compare_stores import compare_stores
from mqctl.store.directory import StoreDirectory
from tests.conftest import Outcome
from tests.each import each
from tests.live.test_chinese import ENGLISH

Run = Callable[..., Outcome]
GOLDEN = Path(__file__).parents[1] / "golden" / "ha"
FILE_BYTES = 131_072
TURNED = {"b-behind": "b-ahead", "b-ahead": "b-behind", "b-empty": "a-empty"}


@pytest.fixture
def diverged(tmp_path: Path) -> tuple[Path, Path]:
    """A master and a slave that was ahead of it and then overtaken; their last answers told equal ends."""
    for side in ("master", "slave"):
        with tarfile.open(GOLDEN / f"{side}-diverged.tar.gz") as archive:
            archive.extractall(tmp_path, filter="data")
    return tmp_path / "master-diverged", tmp_path / "slave-diverged"


def compared(mqctl: Run, a: Path, b: Path) -> tuple[int, Any]:
    outcome = mqctl("ha", "compare", "--store", a, "--store", b, "-o", "json")
    return outcome.exit_code, outcome.json


def test_the_first_record_that_differs_is_named(mqctl: Run, diverged: tuple[Path, Path]) -> None:
    code, report = compared(mqctl, *diverged)
    assert (code, report["state"]) == (2, "different")
    assert (report["first_difference"], report["different_byte"]) == (346_516, 346_518)
    assert (report["a_start"], report["a_end"], report["b_start"], report["b_end"]) == (0, 493_206, 262_144, 480_996)
    shown = mqctl("ha", "compare", "--store", diverged[0], "--store", diverged[1]).stdout
    assert "THE LOGS DIFFER from the record at 346,516 on" in shown
    assert "The log of B begins 262,144 bytes later." in shown
    assert "A has TopicHA/0 offset 395 there, key 7F000001000000000000000000000125, stored " in shown
    assert "B has TopicHA/0 offset 395 there, key 7F000001000000000000000000000001, stored " in shown


def test_what_only_one_has_is_told_by_queue_and_what_consumers_miss_of_it(
    mqctl: Run, diverged: tuple[Path, Path]
) -> None:
    """The counts are those that the recording tells: 571 and 500 messages of the master, 541 and 525 of the slave."""
    _, report = compared(mqctl, *diverged)
    ends = {
        (item["store"], item["queue_id"]): (item["first_offset"], item["last_offset"], item["message_count"])
        for item in report["queues"]
        if item["place"] == "end"
    }
    assert ends == {
        ("A", 0): (395, 570, 176),
        ("A", 1): (380, 499, 120),
        ("B", 0): (395, 540, 146),
        ("B", 1): (380, 524, 145),
    }
    begun = [item for item in report["queues"] if item["place"] == "start"]
    assert {item["store"] for item in begun} == {"A"}
    assert [item["last_offset"] for item in begun if item["topic"] == "TopicHA"] == [291, 276]
    assert sum(item["message_count"] for item in report["queues"] if item["store"] == "A") == 868
    missed = {(item["serving"], item["group"]): item["missed_count"] for item in report["consumers"]}
    # C_fail stands at 395 and 380, C_ha at 10 and 12.
    assert missed["A", "C_fail"] == 146 + 145 and missed["B", "C_fail"] == 176 + 120
    assert missed["B", "C_ha"] == (292 - 10) + (277 - 12) + 176 + 120


def test_a_store_equals_itself_and_one_without_its_end_is_behind(
    mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path
) -> None:
    master, _ = diverged
    other = tmp_path / "copy"
    shutil.copytree(master, other)
    assert compared(mqctl, master, other)[0] == 0
    last = max((other / "commitlog").iterdir())
    last.unlink()
    code, report = compared(mqctl, master, other)
    assert (code, report["state"], report["first_difference"]) == (1, "b-behind", None)
    log = StoreDirectory.open(master).commit_log
    stored = sum(len(log.walk(file).positions) for file in log.files if file.start >= report["b_end"])
    assert (report["a_only_message_count"], report["b_only_message_count"]) == (stored, 0) and stored > 0
    assert compared(mqctl, other, master)[1]["state"] == "b-ahead"


def test_tables_that_differ_are_counted_with_examples(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, _ = diverged
    other = tmp_path / "copy"
    shutil.copytree(master, other)
    offsets = other / "config" / "consumerOffset.json"
    offsets.write_text('{"offsetTable":{"TopicHA@C_ha":{0:11,1:12},"TopicHA@C_new":{0:1}}}')
    code, report = compared(mqctl, master, other)
    assert (code, report["state"]) == (1, "equal")
    (table,) = report["tables"]
    assert table["table"] == "consumer offsets" and table["only_b_count"] == 1
    effects = {(item["serving"], item["group"]): item for item in report["consumers"]}
    assert effects["A", "C_ha"]["read_again_count"] == 1 and effects["A", "C_new"]["without_offset_count"] == 1
    assert ("B", "C_ha") not in effects and effects["B", "C_fail"]["without_offset_count"] == 2
    assert "READ AGAIN" in mqctl("ha", "compare", "--store", master, "--store", other).stdout
    assert "C_ha on TopicHA/0: 10 / 11" in table["examples"]


OWN = ("CID_ONS-HTTP-PROXY", "TOOLS_CONSUMER", "CID_RMQ_SYS_TRANS")


@each(
    "master, slave, differ",
    [
        (None, OWN, False),
        ((), OWN, False),
        (OWN[:1], OWN, False),
        (None, (*OWN, "billing"), True),
        (("billing", *OWN), ("billing",), False),
        (("billing",), OWN, True),
    ],
)
def test_groups_that_every_broker_makes_for_itself_are_no_difference(
    mqctl: Run,
    diverged: tuple[Path, Path],
    tmp_path: Path,
    master: tuple[str, ...] | None,
    slave: tuple[str, ...],
    differ: bool,
) -> None:
    """A master writes its table of groups at the first change of one."""
    stores = []
    case = tmp_path / str(len(list(tmp_path.iterdir())))
    for number, groups in enumerate((master, slave)):
        store = case / str(number)
        shutil.copytree(diverged[0], store)
        file = store / "config" / "subscriptionGroup.json"
        for old in file.parent.glob(file.name + "*"):
            old.unlink()
        if groups is not None:
            table = {name: {"groupName": name} for name in groups}
            file.write_text(
                json.dumps({"subscriptionGroupTable": table, "dataVersion": {"counter": 1, "timestamp": 5}})
            )
        stores.append(store)
    _, report = compared(mqctl, *stores)
    assert ("groups" in {item["table"] for item in report["tables"]}) == differ


def test_nothing_in_common_is_not_called_equal(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, slave = diverged
    early = tmp_path / "early"
    shutil.copytree(master, early)
    for file in sorted((early / "commitlog").iterdir())[1:]:
        file.unlink()
    code, report = compared(mqctl, early, slave)
    assert (code, report["state"], report["compared_bytes"]) == (3, "nothing-in-common", 0)


@pytest.mark.parametrize("words", [(), ("--store", "x"), ("--store", "x", "--store", "y", "--store", "z")])
def test_two_stores_are_needed(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl("ha", "compare", *words)
    assert outcome.exit_code == 64 and "--store" in outcome.stderr


def test_what_is_no_store_is_named(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    outcome = mqctl("ha", "compare", "--store", diverged[0], "--store", tmp_path / "none")
    assert outcome.exit_code == 66 and str(tmp_path / "none") in outcome.stderr


@pytest.fixture
def controlled(tmp_path: Path) -> Callable[[str], Path]:
    """Stores of brokers under a controller, by name."""

    def opened(name: str) -> Path:
        with tarfile.open(GOLDEN / f"controller-{name}.tar.gz") as archive:
            kept = [item for item in archive.getmembers() if not item.name.endswith("timerwheel")]
            archive.extractall(tmp_path, members=kept, filter="data")
        return tmp_path / f"controller-{name}"

    return opened


def test_epochs_say_where_a_master_that_wrote_alone_is_cut(mqctl: Run, controlled: Callable[[str], Path]) -> None:
    elected, dirty = controlled("c2-elected"), controlled("c1-dirty")
    code, report = compared(mqctl, elected, dirty)
    assert (code, report["first_difference"], report["different_byte"], report["epochs_meet_at"]) == (
        2,
        10_240,
        10_285,
        10_240,
    )
    assert (report["a_only_message_count"], report["b_only_message_count"]) == (5, 30)
    assert [(item["epoch"], item["start"]) for item in report["a_epochs"]] == [(1, 0), (5, 10_240)]
    shown = mqctl("ha", "compare", "--store", elected, "--store", dirty).stdout
    assert "As a slave of A, B would be cut to 10,240 by its epochs: 15,360 bytes would go." in shown


def test_records_that_were_cut_and_are_still_in_the_files_are_no_part_of_the_log(
    mqctl: Run, controlled: Callable[[str], Path]
) -> None:
    """Their bytes are whole, but older than what is in front of them."""
    elected, cut = controlled("c2-elected"), controlled("c1-truncated")
    code, report = compared(mqctl, elected, cut)
    assert (code, report["state"], report["b_end"], report["b_cut_bytes"]) == (1, "equal", 12_800, 12_800)
    assert (report["queues"], report["b_only_message_count"]) == ([], 0)
    assert "a restart brings them back" in mqctl("ha", "compare", "--store", elected, "--store", cut).stdout
    assert both_ways(cut, controlled("c1-dirty")).first_difference == 10_240


def epochs(store: Path, *entries: str) -> None:
    lines = "".join(f"{entry}\n" for entry in entries)
    for name in ("epochFileCheckpoint", "epochFileCheckpoint.bak"):
        (store / name).write_text(f"{len(entries)}\n{zlib.crc32(lines.encode()) & 0x7FFFFFFF}\n{lines}")


@pytest.mark.parametrize(
    ("entries", "code", "meet", "said"),
    [
        (("1-0", "5-10240"), 0, 12_800, None),
        (("1-0", "5-10240", "6-12800"), 0, 12_800, None),  # elected, and nothing written yet
        (("1-0", "5-9728"), 1, 9_728, "B would be cut to 9,728 by its epochs"),
        (("1-0", "4-10240"), 1, 10_240, "B would be cut to 10,240 by its epochs: 2,560 bytes would go"),
        (("2-0", "5-9728"), 1, None, "nothing in common"),
    ],
)
def test_epoch_files_that_disagree_are_told_though_the_logs_are_equal(
    mqctl: Run,
    controlled: Callable[[str], Path],
    tmp_path: Path,
    entries: tuple[str, ...],
    code: int,
    meet: int | None,
    said: str | None,
) -> None:
    elected = controlled("c2-elected")
    other = shutil.copytree(elected, tmp_path / "copy")
    epochs(other, *entries)
    ended, report = compared(mqctl, elected, other)
    assert (ended, report["state"], report["epochs_meet_at"]) == (code, "equal", meet)
    assert said is None or said in mqctl("ha", "compare", "--store", elected, "--store", other).stdout


def test_epochs_and_tables_that_cannot_be_read_are_no_verdict(
    mqctl: Run, controlled: Callable[[str], Path], tmp_path: Path
) -> None:
    elected = controlled("c2-elected")
    other = shutil.copytree(elected, tmp_path / "copy")
    epochs(other, "1-0", "5-10240")
    (other / "epochFileCheckpoint").write_text("2\n7\n1-0\n5-10240\n")
    assert compared(mqctl, elected, other)[0] == 0  # the backup is of use
    (other / "epochFileCheckpoint.bak").unlink()
    code, report = compared(mqctl, elected, other)
    assert (code, [(item["store"], item["table"]) for item in report["unread_tables"]]) == (3, [("B", "epochs")])
    (other / "epochFileCheckpoint").unlink()
    assert compared(mqctl, elected, other)[0] == 1
    shown = mqctl("ha", "compare", "--store", elected, "--store", other).stdout
    assert "Only A has epochs" in shown
    epochs(other, "1-0", "5-10240")
    for name in ("topics.json", "topics.json.bak"):
        (other / "config" / name).write_text("{oh")
    code, report = compared(mqctl, elected, other)
    assert (code, [(item["store"], item["table"]) for item in report["unread_tables"]]) == (3, [("B", "topics")])
    shutil.rmtree(other / "config")
    code, report = compared(mqctl, elected, other)
    assert (code, len(report["unread_tables"]), report["tables"], report["consumers"]) == (3, 4, [], [])


def test_all_of_it_is_told_in_chinese(
    mqctl: Run, controlled: Callable[[str], Path], diverged: tuple[Path, Path]
) -> None:
    pairs = [(controlled("c2-elected"), controlled("c1-dirty")), diverged]
    shutil.rmtree(pairs[0][1] / "config")
    for a, b in pairs:
        shown = mqctl("ha", "compare", "--store", a, "--store", b, env={"MQCTL_LANG": "zh"}).stdout
        assert ENGLISH.findall(shown) == [], shown


def poked(store: Path, offset: int, data: bytes) -> None:
    with (store / "commitlog" / f"{offset // FILE_BYTES * FILE_BYTES:020d}").open("r+b") as file:
        file.seek(offset % FILE_BYTES)
        file.write(data)


def both_ways(a: Path, b: Path) -> StoreComparison:
    """Compares in both directions, which must find the same; returns the first answer."""
    forth, reverse = compare_stores(a, b), compare_stores(b, a)
    assert (forth.exit_code(), TURNED.get(forth.state, forth.state)) == (reverse.exit_code(), reverse.state)
    assert (forth.first_difference, forth.different_byte) == (reverse.first_difference, reverse.different_byte)
    assert forth.compared_bytes == reverse.compared_bytes
    return forth


@pytest.mark.parametrize(
    ("offset", "data", "record"),
    [
        (131_072, b"\1", 131_072),  # the first byte of a file
        (131_072 + 95, b"?", 131_072),
        (130_607 + 20, b"junk", 130_607),  # within the filler at the end of a file
        (245_517 + 4, b"\0\0\0\0", 245_517),  # a record's magic: nothing behind it can be read there
        (245_517, bytes(200), 245_517),
        (493_205, b"\1", 492_711),  # the last byte of the log
        (483_306, b"\0\0\1\0" + b"Q" * 60, 483_306),  # half a record that the master lost, then other bytes
    ],
)
def test_a_difference_anywhere_is_found_from_both_sides(
    diverged: tuple[Path, Path], tmp_path: Path, offset: int, data: bytes, record: int
) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    poked(other, offset, data)
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.first_difference) == (2, "different", record)


def test_half_a_record_at_the_end_is_no_difference_and_is_told(diverged: tuple[Path, Path], tmp_path: Path) -> None:
    """Blocks are cut anywhere: a slave that is killed has the first half of a record, and zeros."""
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    poked(other, 493_206 - 50, bytes(50))
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_end, difference.b_unread_bytes) == (
        1,
        "b-behind",
        492_711,
        445,
    )
    assert (difference.a_only_message_count, difference.b_only_message_count) == (1, 0)
    poked(other, 493_206 - 50, (diverged[0] / "commitlog" / f"{393_216:020d}").read_bytes()[99_940:99_990])
    poked(other, 493_206 + 3, b"left")
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_unread_bytes) == (1, "equal", 7)


def test_what_lies_behind_a_missing_file_is_compared(diverged: tuple[Path, Path], tmp_path: Path) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    (other / "commitlog" / f"{131_072:020d}").unlink()
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.compared_bytes) == (
        3,
        "file-missing",
        493_206 - FILE_BYTES,
    )
    poked(other, 478_356 + 99, b"ZZZ")
    assert both_ways(diverged[0], other).first_difference == 478_356


def test_messages_of_a_file_that_is_missing_in_between_are_counted(
    mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path
) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    (other / "commitlog" / f"{131_072:020d}").unlink()
    code, report = compared(mqctl, diverged[0], other)
    log = StoreDirectory.open(diverged[0]).commit_log
    assert (code, {(item["store"], item["place"]) for item in report["queues"]}) == (3, {("A", "middle")})
    assert report["a_only_message_count"] == len(log.walk(log.files[1]).positions)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_store_without_a_message_is_told(diverged: tuple[Path, Path], tmp_path: Path, is_there: bool) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    for file in (other / "commitlog").iterdir():
        file.write_bytes(bytes(FILE_BYTES)) if is_there else file.unlink()
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_end) == (1, "b-empty", 0)
    assert compare_stores(other, other).state == "nothing-in-common"


def test_files_of_another_size_are_told(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    files = sorted((other / "commitlog").iterdir())
    whole = b"".join(file.read_bytes() for file in files)
    for file in files[1:]:
        file.unlink()
    files[0].write_bytes(whole)
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.a_file_bytes, difference.b_file_bytes) == (1, FILE_BYTES, 4 * FILE_BYTES)
    shown = mqctl("ha", "compare", "--store", diverged[0], "--store", other).stdout
    assert "Log files differ in size: 131,072 bytes in A, 524,288 in B." in shown


def test_doctor_names_records_that_a_slave_was_cut_of_and_blames_no_clock(
    mqctl: Run, controlled: Callable[[str], Path]
) -> None:
    """Both stores of the recording have the same records; one broker was cut of them, the other wrote them."""
    codes = {}
    for name in ("c1-truncated", "c1-dirty", "c2-elected"):
        outcome = mqctl("doctor", "--store", controlled(name), "--only", "MQ143", "--only", "MQ107", "-o", "json")
        codes[name] = [(item["code"], item["evidence"]) for item in outcome.json["findings"]]
    assert codes == {
        "c1-truncated": [("MQ143", {"physical_offset": 12_800, "cut_bytes": 12_800})],
        "c1-dirty": [],
        "c2-elected": [],
    }


@pytest.mark.parametrize("turn", [1, -1])
def test_records_that_were_changed_in_one_copy_are_no_second_history(
    mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path, turn: int
) -> None:
    """One bit in the bodies of two records: of 655 messages behind the first each was said to be in one copy only."""
    master, copy = diverged[0], tmp_path / "copy"
    shutil.copytree(master, copy)
    log = StoreDirectory.open(master).commit_log
    first, second = log.files[0], log.files[2]
    spots = [
        (file, int(log.walk(file).positions[number]), int(log.walk(file).positions[number + 1]))
        for file, number in ((first, 40), (second, 7))
    ]
    for file, _, stop in spots:
        with (copy / "commitlog" / file.path.name).open("r+b") as changed:
            changed.seek(stop - 20)
            byte = changed.read(1)
            changed.seek(stop - 20)
            changed.write(bytes([byte[0] ^ 1]))
    code, report = compared(mqctl, *(master, copy)[::turn])
    assert (code, report["state"], report["first_difference"]) == (2, "different", first.start + spots[0][1])
    assert report["equal_again_at"] == second.start + spots[1][2]
    assert (report["a_only_message_count"], report["b_only_message_count"]) == (2, 2)
    shown = mqctl("ha", "compare", "--store", master, "--store", copy).stdout
    assert f"THE LOGS DIFFER between {report['first_difference']:,} and {report['equal_again_at']:,} (" in shown
    assert "from the record at" not in shown
