"""Stores of 5.x in RocksDB: what is in the databases is read as if in files, and not a byte is written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import rocksdict
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.model.damage import DamageCode
from mqctl.model.gap import Part
from mqctl.protocol.fastjson import loads
from mqctl.snapshot.store.gatherer import gather_store as gather
from mqctl.snapshot.store.reading import Reading
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.conftest import GOLDEN, Outcome
from tests.each import each
from tests.store.builder import StoreBuilder, message
from tests.store.test_being_written import HOLDER as STORE_HOLDER

Run = Callable[..., Outcome]
ROCKS = "store-5.3.3-rocksdb-auth"
TOPICS = {
    name: {"topicName": name, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6, "order": False}
    for name in ("Orders", "Quotes")
}
GROUPS = {"billing": {"groupName": "billing", "consumeEnable": True, "retryMaxTimes": 5, "brokerId": 0}}
OFFSETS = {"Orders@billing": {0: 3, 1: 7}}


def key_of(topic: str, *rest: bytes) -> bytes:
    name = topic.encode()
    return b"\1".join((struct.pack(">i", len(name)), name, *rest))


def database(directory: Path, families: dict[str, dict[bytes, bytes]]) -> None:
    """Writes a database as a broker does: raw keys and values, flushed to tables."""
    options = rocksdict.Options(raw_mode=True)
    options.create_missing_column_families(True)
    opened = rocksdict.Rdict(
        str(directory), options, {name: rocksdict.Options(raw_mode=True) for name in ("default", *families)}
    )
    for name, rows in families.items():
        family = opened.get_column_family(name)
        for key, value in rows.items():
            family[key] = value
        family.flush()
    opened.close()
    (directory / "rocksdict-config.json").unlink()


def built(root: Path) -> StoreBuilder:
    builder = StoreBuilder()
    for number in range(60):
        topic = ("Orders", "Quotes")[number % 3 == 0]
        builder.append(message(topic, number % 2, properties={"KEYS": f"k{number}", "TAGS": f"T{number % 3}"}))
    builder.write(root)
    return builder


def in_files(root: Path) -> Path:
    built(root)
    tables: dict[str, dict[str, Any]] = {
        "topics.json": {"topicConfigTable": TOPICS},
        "subscriptionGroup.json": {"subscriptionGroupTable": GROUPS, "forbiddenTable": {}},
        "consumerOffset.json": {"offsetTable": OFFSETS},
    }
    for name, table in tables.items():
        (root / "config" / name).write_text(json.dumps(table | {"dataVersion": {"counter": 1, "timestamp": 5}}))
    return root


def in_rocksdb(
    root: Path,
    *,
    change: Callable[[dict[bytes, bytes]], None] = lambda _: None,
    flushed: int | None = None,
    **more_families: dict[bytes, bytes],
) -> Path:
    """The same store as a broker with storeType=defaultRocksDB has it; `change` alters its queue entries, `flushed` is
    how many records have theirs on the disk."""
    builder = built(root)
    shutil.rmtree(root / "consumequeue")
    entries, bounds = {}, {}
    ends = sorted(entry[0] for queue in builder.entries.values() for entry in queue)[:flushed]
    for (topic, queue_id), whole in builder.entries.items():
        queue = [entry for entry in whole if entry[0] in ends]
        if not queue:
            continue
        number = struct.pack(">i", queue_id)
        for offset, entry in enumerate(queue):
            entries[key_of(topic, number, struct.pack(">q", offset))] = struct.pack(">qiqq", *entry, 5)
        bounds[key_of(topic, b"max", number)] = struct.pack(">qq", queue[-1][0], len(queue) - 1)
        bounds[key_of(topic, b"min", number)] = struct.pack(">qq", queue[0][0], 0)
    bounds[key_of("CHECKPOINT_TOPIC", b"max", bytes(4))] = struct.pack(">q", builder.end)  # 5.3.3: as wide as others
    bounds[key_of("Expired", b"max", bytes(4))] = struct.pack(">qq", 0, 41)
    change(entries)
    database(root / "consumequeue", {"default": entries, "offset": bounds, **more_families})
    version = {b"kvDataVersionKey": b'{"counter":1,"timestamp":5}'}
    tables: tuple[tuple[str, dict[str, Any]], ...] = (("topics", TOPICS), ("subscriptionGroups", GROUPS))
    for name, table in tables:
        rows = {key.encode(): json.dumps(value).encode() for key, value in table.items()}
        database(root / "config" / name, {"default": rows, "kvDataVersion": version, "forbidden": {}})
    offsets = {
        key.encode(): b'{"offsetTable":{%s}}' % ",".join(f"{k}:{v}" for k, v in table.items()).encode()
        for key, table in OFFSETS.items()
    }
    database(root / "config" / "consumerOffsets", {"default": offsets, "kvDataVersion": version})
    return root


def hashes(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "words",
    [
        ("group", "lag"), ("group", "lag", "--by", "queue"), ("doctor", "--at", "2026-11-21T00:00:00Z"),
        ("store", "verify"), ("store", "describe"), ("delay", "check"),
        ("report", "backlog", "--no-spark"), ("report", "skew", "--no-spark"), ("report", "transactions", "--no-spark"),
    ],
)  # fmt: skip
def test_commands_say_what_they_say_of_the_same_store_in_files(mqctl: Run, tmp_path: Path, words: Any) -> None:
    files, rocks = in_files(tmp_path / "files" / "store"), in_rocksdb(tmp_path / "rocks" / "store")
    shutil.rmtree(files / "consumequeue" / "Expired", ignore_errors=True)
    before = hashes(rocks)
    wanted, answered = (mqctl(*words, "--store", store, "-o", "json") for store in (files, rocks))
    assert hashes(rocks) == before
    assert answered.exit_code == wanted.exit_code, answered.stderr

    def plain(outcome: Outcome) -> Any:
        text = outcome.stdout.replace(str(rocks), "STORE").replace(str(files), "STORE")
        return without_moments(json.loads(text))

    assert plain(answered) == plain(wanted)


def without_moments(value: Any) -> Any:
    """Leaves out what goes by the files themselves, when they were written, and the queue that only RocksDB knows."""
    if isinstance(value, dict):
        return {
            key: without_moments(item)
            for key, item in value.items()
            if not any(
                part in key
                for part in ("mtime", "observed", "lag_ms", "disk_used", "queue_count", "seconds", "mapped_file")
            )
        }
    if isinstance(value, list):
        return [
            without_moments(item) for item in value if not (isinstance(item, dict) and item.get("topic") == "Expired")
        ]
    return value


def test_entries_bounds_and_what_is_expired(tmp_path: Path) -> None:
    files, rocks = (
        StoreDirectory.open(made(tmp_path / name)) for name, made in (("files", in_files), ("rocks", in_rocksdb))
    )
    assert [place for place in rocks.queue_ids() if place[0] != "Expired"] == files.queue_ids()
    for place in files.queue_ids():
        wanted, entries = files.consume_queue(*place), rocks.consume_queue(*place)
        assert entries.max_offset == wanted.max_offset
        assert entries.entries().tolist() == wanted.entries().tolist()
    assert rocks.consume_queue("Expired", 0).max_offset == 42
    assert rocks.consume_queue_kind == "file"
    assert rocks.unreadable == []
    assert {damage.code for damage in verify(rocks).damages} == {damage.code for damage in verify(files).damages}


def test_a_queue_that_begins_late_and_lacks_an_entry(tmp_path: Path) -> None:
    root = in_files(tmp_path)
    shutil.rmtree(root / "consumequeue")
    rows = {
        key_of("T", struct.pack(">i", 3), struct.pack(">q", offset)): struct.pack(">qiqq", offset * 9, 100, 1, 5)
        for offset in (300_007, 300_008, 300_010)
    }
    database(root / "consumequeue", {"default": rows, "offset": {}})
    queue = StoreDirectory.open(root).consume_queue("T", 3)
    assert (queue.min_file_offset, queue.max_offset) == (300_007, 300_011)
    entries = queue.entries()
    assert entries["physical_offset"].tolist() == [9 * 300_007, 9 * 300_008, 0, 9 * 300_010]


def test_an_unknown_column_family_is_named(mqctl: Run, tmp_path: Path) -> None:
    store = in_rocksdb(tmp_path / "store", surprise={b"a": b"b"})
    outcome = mqctl("store", "verify", "--store", store)
    assert outcome.exit_code == 3
    assert "consumequeue/surprise" in outcome.stdout
    assert "not known here" in outcome.stdout
    assert mqctl("group", "lag", "--store", store, "-o", "json").exit_code == 0
    judged = mqctl("doctor", "--store", store, "--only", "MQ102", "-o", "json")
    assert (judged.exit_code, "consumequeue/surprise" in judged.stdout) == (3, True)


MESSAGE_ROWS = {
    "default": {b"\0" * 8 + b"@Orders@K@k1@u@" + b"\0" * 8: b"\0" * 8},
    "timer": {struct.pack(">q", 1_800_000_000_000) + b"7F0001": struct.pack(">iq", 200, 4096)},
    "trans": {struct.pack(">q", 4096) + b"@Orders@7F0002": struct.pack(">ii", 0, 200)},
}
PROGRESS = {
    "timer": {b"sys_topic_scan_offset_checkpoint": b"\0" * 8, b"timeline_checkpoint": b"\0" * 8},
    "trans": {b"lastOffsetPy": b"\0" * 8},
}
TOLD_BY = {"timer": ("delay", "levels"), "trans": ("transaction", "list")}


@given(
    kept=st.sets(st.sampled_from(["default", "timer", "trans"])), odd=st.sampled_from(["", "lite", "timer2", "Trans"])
)
@example(kept=set(), odd="")
@example(kept={"timer", "trans"}, odd="")
@settings(max_examples=12)
def test_timers_and_transactions_in_a_database_are_not_called_none(kept: set[str], odd: str) -> None:
    """5.4.0 and 5.5.0 make the database in any case; what is in it tells which engine is used."""
    with TemporaryDirectory() as directory:
        root = in_files(Path(directory, "store"))
        rows = {name: MESSAGE_ROWS[name] if name in kept else PROGRESS.get(name, {}) for name in MESSAGE_ROWS}
        database(root / "rocksdbstore", rows | ({odd: {b"a": b"b"}} if odd else {}))
        store = StoreDirectory.open(root)
        assert {item.part for item in store.unreadable} == {f"rocksdbstore/{name}" for name in kept - {"default"}}
        assert [item.part for item in store.unknown] == ([f"rocksdbstore/{odd}"] if odd else [])
        snapshot = gather(root)
        unread = {gap.part for gap in snapshot.brokers[0].unavailable} & {Part.DELAY_TIMERS, Part.TRANSACTIONS}
        expected = {"timer": Part.DELAY_TIMERS, "trans": Part.TRANSACTIONS}
        assert unread == {part for name, part in expected.items() if name in kept}
        assert any(gap.part is Part.STORAGE for gap in snapshot.brokers[0].unavailable) == bool(odd)


def killed(store: Path) -> Path:
    """What a kill -9 leaves of the database of messages (5.5.0): its log was in memory, and nothing is in it."""
    shutil.rmtree(store / "rocksdbstore")
    database(store / "rocksdbstore", {name: {} for name in MESSAGE_ROWS})
    (store / "abort").touch()
    return store


@each(
    "words, part",
    [
        (("delay", "levels"), "delay-timers"),
        (("delay", "check"), "delay-timers"),
        (("transaction", "list"), "transactions"),
        (("report", "delay", "--no-spark"), "rocksdbstore/timer"),
        (("report", "transactions", "--no-spark"), "rocksdbstore/trans"),
        (("store", "verify"), "rocksdbstore/timer"),
    ],
)
def test_what_a_database_held_before_a_kill_is_not_called_none(
    mqctl: Run, tmp_path: Path, store_copy: Callable[[str], Path], words: tuple[str, ...], part: str
) -> None:
    tidy = store_copy("store-5.5.0-rocksdb")
    before = mqctl(*words, "--store", tidy)
    after = mqctl(*words, "--store", killed(tidy))
    assert (before.exit_code, after.exit_code) == ((3, 3) if words[1] in ("check", "verify") else (74, 74))
    assert all(part in outcome.stdout + outcome.stderr for outcome in (before, after))


def test_levels_are_reported_beside_timers_that_are_not_read(mqctl: Run, golden_store: Callable[[str], Path]) -> None:
    store = golden_store("store-5.5.0-rocksdb")
    report = mqctl("report", "delay", "--no-spark", "--store", store, "-o", "json").json["report"]
    assert [(row["level"], row["waiting"]) for row in report["levels"] if row["waiting"]] == [(18, 1)]
    assert [row["part"] for row in report["unread"]] == ["rocksdbstore/timer"]


@each("store", ["store-5.3.3", "recorded 5.4.0 killed", "recorded 5.5.0 killed", "recorded 5.5.0 tidy"])
def test_timers_of_a_wheel_that_turns_are_read(
    mqctl: Run, tmp_path: Path, golden_store: Callable[[str], Path], store: str
) -> None:
    if store.startswith("recorded "):
        _, release, end = store.split()
        with tarfile.open(GOLDEN / "recorded" / release / f"store-{end}.tar.gz") as archive:
            archive.extractall(tmp_path / release / end, filter="tar")
        (root,) = (path for path in (tmp_path / release / end).iterdir() if path.is_dir())
    else:
        root = golden_store(store)
    outcome = mqctl("delay", "levels", "--store", root)
    assert (outcome.exit_code, outcome.stderr) == (0, "")


@each("family", TOLD_BY)
def test_a_command_about_what_is_kept_in_a_database_does_not_answer_nothing(
    mqctl: Run, tmp_path: Path, family: str
) -> None:
    root = in_files(tmp_path / family)
    database(root / "rocksdbstore", {name: PROGRESS.get(name, {}) for name in MESSAGE_ROWS})
    assert mqctl(*TOLD_BY[family], "--store", root).exit_code == 0
    shutil.rmtree(root / "rocksdbstore")
    database(root / "rocksdbstore", {**{name: {} for name in MESSAGE_ROWS}, family: MESSAGE_ROWS[family]})
    answer = mqctl(*TOLD_BY[family], "--store", root)
    assert (answer.exit_code, "kept in a RocksDB database" in answer.stderr) == (74, True)
    verified = mqctl("store", "verify", "--store", root, "-o", "json")
    assert (verified.exit_code, [row["part"] for row in verified.json["not_read"]]) == (3, [f"rocksdbstore/{family}"])


def test_a_database_that_cannot_be_opened_is_named_and_the_rest_is_read(mqctl: Run, tmp_path: Path) -> None:
    store = in_rocksdb(tmp_path / "store")
    for table in (store / "consumequeue").glob("*.sst"):
        table.write_bytes(b"no table")
    outcome = mqctl("doctor", "--store", store, "-o", "json")
    assert outcome.exit_code == 3
    assert any("could not be opened" in gap["reason"] for gap in outcome.json["not_judged"])
    assert StoreDirectory.open(store).config("topics.json").value["topicConfigTable"].keys() == TOPICS.keys()


def flip_a_block(database: Path) -> None:
    for table in database.glob("*.sst"):
        content = bytearray(table.read_bytes())
        content[40] ^= 0x33
        table.write_bytes(content)


def remove_current(database: Path) -> None:
    (database / "CURRENT").unlink()


def remove_manifest(database: Path) -> None:
    for manifest in database.glob("MANIFEST-*"):
        manifest.unlink()


@pytest.mark.parametrize("spoil", [flip_a_block, remove_current, remove_manifest])
def test_a_damaged_database_is_not_read_as_an_empty_one(
    mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    store = shutil.copytree(golden_store(ROCKS), tmp_path / "store")
    databases = [store / part for part in ("consumequeue", "config/topics", "config/users")]
    for database in databases:
        spoil(database)
    verified = mqctl("store", "verify", "--store", store, "-o", "json")
    assert verified.exit_code == 3, verified.stdout
    unread = {gap["part"]: gap["reason"] for gap in verified.json["not_read"]}
    assert {"consumequeue", "config/topics"} <= unread.keys()
    assert "mqctl-rocksdb" not in str(unread)  # no path of our copy
    doctor = mqctl("doctor", "--store", store, "-o", "json")
    assert doctor.exit_code == 3, doctor.stdout
    assert {"MQ301", "MQ601", "MQ633"} <= {rule["code"] for rule in doctor.json["not_judged"]}
    assert mqctl("group", "lag", "--store", store).exit_code == 74


def test_users_are_judged_where_a_broker_without_authorization_has_no_entries(
    mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    store = shutil.copytree(golden_store(ROCKS), tmp_path / "store")
    shutil.rmtree(store / "config" / "acls")
    doctor = mqctl("doctor", "--store", store, "-o", "json").json
    assert [finding["code"] for finding in doctor["findings"]] == ["MQ633"]
    assert doctor["not_judged"] == []


def test_topics_of_a_recorded_store_are_those_its_broker_told(golden_store: Callable[[str], Path]) -> None:
    store = StoreDirectory.open(golden_store(ROCKS))
    before = hashes(store.path)
    topics = store.config("topics.json").value["topicConfigTable"]
    assert len(topics) == 14
    topics_told = {
        "RockCluster", "broker-r", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC",
    }  # fmt: skip
    assert topics_told <= topics.keys()
    assert topics["SCHEDULE_TOPIC_XXXX"]["readQueueNums"] == 18
    assert len(store.config("subscriptionGroup.json").value["subscriptionGroupTable"]) == 9
    assert loads(json.dumps(store.config("consumerOffset.json").value["offsetTable"]).encode()) == {}
    assert len(store.queue_ids()) == 31
    assert hashes(store.path) == before


HOLDER = """
import sys, rocksdict
opened = [rocksdict.Rdict(path, rocksdict.Options(raw_mode=True)) for path in sys.argv[1:]]
print("held", flush=True)
sys.stdin.read()
"""


def test_beside_a_holder_of_the_locks(mqctl: Run, tmp_path: Path) -> None:
    store = in_rocksdb(tmp_path / "store")
    places = [str(store / "config" / name) for name in ("topics", "consumerOffsets")]
    for place in places:  # a holder without column families can open a plain database only
        shutil.rmtree(place)
        database(Path(place), {"default": {b"Orders": b"{}"}})
    command = [sys.executable, "-c", HOLDER, *places]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        before = without_own_log(hashes(store))
        outcome = mqctl("doctor", "--store", store, "-o", "json")
        assert without_own_log(hashes(store)) == before
        holder.stdin.close()
    assert not outcome.json["not_judged"]


@pytest.mark.quick
def test_newest_entries_of_a_running_broker_are_in_its_memory(mqctl: Run, tmp_path: Path) -> None:
    """Consume queues in RocksDB are written without a log: beside its broker the disk has those of the last flush."""

    def drop_newest(entries: dict[bytes, bytes]) -> None:
        for key in sorted(entries)[-3:]:
            del entries[key]

    store = in_rocksdb(tmp_path / "store", change=drop_newest)
    assert '"queue_behind_log"' in mqctl("store", "verify", "--store", store, "-o", "json").stdout
    command = [sys.executable, "-c", STORE_HOLDER, str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        verified = mqctl("store", "verify", "--store", store, "-o", "json")
        judged = mqctl("doctor", "--store", store, "-o", "json")
        lag = mqctl("group", "lag", "--store", store)
        backlog = mqctl("report", "backlog", "--store", store, "--no-spark")
        holder.stdin.close()
    why = "the running broker has the newest queue entries in memory: those on the disk are older"
    assert {each["code"] for each in verified.json["deviations"]}.isdisjoint({"queue_behind_log", "queue_gone"})
    assert (verified.exit_code, lag.exit_code, backlog.exit_code) == (3, 74, 74)
    assert "MQ103" not in {each["code"] for each in judged.json["findings"]}
    for outcome in (verified, judged, lag, backlog):
        assert why in outcome.stdout + outcome.stderr


def without_own_log(files: dict[str, str]) -> dict[str, str]:
    """Leaves out what the holder itself writes from time to time."""
    return {name: digest for name, digest in files.items() if Path(name).name != "LOG"}


LINES = {
    "delay repair": "", "group describe": "-g SELF_TEST_C_GROUP", "ha compare": "--store {store}",
    "order check": "-t RT", "report run": "--no-spark",
    "snapshot save": "{store}.snap", "store acknowledge": "", "store cat": "-t RT -q 1", "transaction show": "H0",
    "replay publish": "-t RT --to RT --to-offset 4 --namesrv 127.0.0.1:1",
}  # fmt: skip
WITHOUT_JSON = ("delay repair", "replay publish", "snapshot save", "store acknowledge")
ENDS = {"doctor": 2, "ha compare": 3, "replay publish": 69, "transaction show": 66}
"""A password from the examples; no messages to compare; nobody to publish to; no such transaction."""
STORE_COMMANDS = [
    " ".join(entry.path)
    for entry in ENTRIES
    if "--store" in options_of(tuple(entry.path)) and entry.path[-1] != "reconcile"
]


FULL_HOLDER = """
import sys, rocksdict
opened = []
for path in sys.argv[1:]:
    raw = rocksdict.Options(raw_mode=True)
    families = {name: rocksdict.Options(raw_mode=True) for name in rocksdict.Rdict.list_cf(path, raw)}
    opened.append(rocksdict.Rdict(path, raw, families))
print("held", flush=True)
sys.stdin.read()
"""


def state(root: Path) -> dict[str, tuple[int, str]]:
    """Everything below a folder: when it was changed, and what it holds."""
    own = hashes(root)
    return {str(path): (path.lstat().st_mtime_ns, own.get(str(path), "")) for path in (root, *root.rglob("*"))}


def said(outcome: Outcome, store: Path) -> tuple[int, str, str]:
    """What a command said of a store, but for its place, how long that is, and the room on the disk."""
    texts = (text.replace(str(store), "STORE") for text in (outcome.stdout, outcome.stderr))
    out, err = (re.sub(r'"(disk_used_share|disk_bytes|free_bytes)": [^,}]*|[\d.]+ KiB', "", text) for text in texts)
    return outcome.exit_code, out, err


@pytest.fixture
def held(store_copy: Callable[[str], Path], tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Gives a recorded store all of whose locks a process holds, and a copy of it without one."""
    store, copy = store_copy(ROCKS), tmp_path / "without"
    places = sorted(str(path.parent) for path in store.rglob("CURRENT"))
    assert len(places) == 6
    command = [sys.executable, "-c", FULL_HOLDER, *places]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)  # it keeps its locks, and writes no statistics into its logs
        os.waitpid(holder.pid, os.WUNTRACED)
        try:
            shutil.copytree(store, copy)
            yield store, copy
        finally:
            holder.send_signal(signal.SIGCONT)
        holder.stdin.close()


@each("name", STORE_COMMANDS)
def test_every_command_says_beside_a_holder_of_all_locks_what_it_says_without(
    mqctl: Run, held: tuple[Path, Path], name: str
) -> None:
    before = state(held[0]), hashes(held[1])
    options = LINES.get(name, "--no-spark" if name.startswith("report") else "")
    form = "" if name in WITHOUT_JSON else " -o json"
    beside, alone = (
        said(mqctl(*name.split(), "--store", store, *(options.format(store=store) + form).split()), store)
        for store in held
    )
    assert beside == alone
    assert alone[0] == ENDS.get(name, 0), alone
    assert "RocksDB" not in alone[2]
    assert (state(held[0]), hashes(held[1])) == before


def to_a_terabyte(file: Path) -> None:
    os.truncate(file, 1 << 40)


def to_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (to_a_terabyte, "it is larger than 4 GiB"),
        (to_a_pipe, "it is not a regular file"),
    ],
    ids=["a terabyte", "a pipe"],
)
@pytest.mark.parametrize("pattern", ["OPTIONS-*", "MANIFEST-*"])
def test_odd_files_of_a_database_are_named_and_neither_copied_nor_waited_for(
    mqctl: Run, tmp_path: Path, pattern: str, spoil: Callable[[Path], None], says: str
) -> None:
    store = in_rocksdb(tmp_path / "store")
    spoil(sorted((store / "config" / "topics").glob(pattern))[-1])
    outcome = mqctl("doctor", "--store", store, "-o", "json")
    assert any(says in gap["reason"] for gap in outcome.json["not_judged"]), outcome.json["not_judged"]


def test_entries_in_rocksdb_are_held_against_the_log(mqctl: Run, tmp_path: Path) -> None:
    def wrong(entries: dict[bytes, bytes]) -> None:
        where, size, code, at = struct.unpack(">qiqq", entries[key_of("Orders", bytes(4), struct.pack(">q", 2))])
        entries[key_of("Orders", bytes(4), struct.pack(">q", 2))] = struct.pack(">qiqq", where + 7, size, code, at)
        del entries[key_of("Quotes", struct.pack(">i", 1), struct.pack(">q", 9))]

    def damages(store: Path) -> set[tuple[str, str]]:
        answer = mqctl("store", "verify", "--store", store, "-o", "json").json
        return {(each["code"], each["file"]) for each in answer["deviations"] if each["grade"] == "damage"}

    assert damages(in_rocksdb(tmp_path / "sound")) == set()
    assert damages(in_rocksdb(tmp_path / "wrong", change=wrong)) == {
        ("queue_entry_dangling", "consumequeue/Orders/0/00000000000000000000"),
        ("queue_missing_record", "commitlog/00000000000000000000"),
        ("queue_behind_log", "commitlog/00000000000000000000"),
    }


INT64 = struct.Struct(">q")
ENTRY = struct.pack(">qiqq", 0, 100, 0, 5)


def entry_key(topic: bytes, queue_id: int, offset: int, separator: bytes = b"\1") -> bytes:
    parts = (struct.pack(">i", len(topic)), topic, struct.pack(">i", queue_id), INT64.pack(offset))
    return separator.join(parts)


def bound_key(topic: bytes, queue_id: int) -> bytes:
    return b"\1".join((struct.pack(">i", len(topic)), topic, b"max", struct.pack(">i", queue_id)))


ODD_ENTRIES = {
    "a gap of a terabyte": ({entry_key(b"T", 0, 0): ENTRY, entry_key(b"T", 0, 1 << 40): ENTRY}, "consumequeue/T/0"),
    "many gaps": ({entry_key(b"T", 0, 200_000 * i): ENTRY for i in range(1_000)}, "consumequeue/T/0"),
    "gaps of many queues": ({entry_key(b"T", i // 2, i % 2 * 299_999): ENTRY for i in range(100)}, "consumequeue/T/2"),
    "two names that decode to one": (
        {entry_key(name, queue, offset): ENTRY for name in (b"\xfe", b"\xff") for queue in (0, 1) for offset in (0, 1)},
        "consumequeue/\\xfe",
    ),
    "two keys of one place": (
        {entry_key(b"T", 0, 0, b"\1"): ENTRY, entry_key(b"U", 0, 0): ENTRY, entry_key(b"T", 0, 1, b"\2"): ENTRY},
        "consumequeue/",
    ),
    "a name of 300 bytes": ({entry_key(b"x" * 300, 0, 0): ENTRY}, "consumequeue/" + "x" * 80),
    "a name that leaves": ({entry_key(b"../../x", 0, 0): ENTRY}, "consumequeue/../../x"),
    "a queue below zero": ({entry_key(b"T", -5, 0): ENTRY}, "consumequeue/T/-5"),
    "an offset below zero": ({entry_key(b"T", 0, -7): ENTRY}, "consumequeue/T/0"),
    "an offset without a place": ({entry_key(b"T", 0, (1 << 63) // 20): ENTRY}, "consumequeue/T/0"),
    "no entry": ({entry_key(b"T", 0, 0): b"short"}, "consumequeue/T"),
    "no key": ({b"T": ENTRY}, "consumequeue/T"),
}  # fmt: skip
"""Rows that no broker writes, by what is wrong with them, and the queue that is named for them."""


def used_bytes(root: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in root.rglob("*"))


@each("what", ODD_ENTRIES)
def test_rows_that_no_broker_writes_are_named_and_the_other_queues_are_read(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, named = ODD_ENTRIES[what]
    temporary = tmp_path / what / "tmp"
    temporary.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    store = StoreDirectory.open(in_rocksdb(tmp_path / what / "store", change=lambda entries: entries.update(rows)))
    assert [store.consume_queue("Orders", queue).max_offset for queue in (0, 1)] == [20, 20]
    left_out = {each.part: each.reason for each in store.left_out}
    assert any(part.startswith(named) for part in left_out), left_out
    assert used_bytes(temporary) < 32 << 20
    reading = Reading(store)
    reading.bounds  # noqa: B018 - a property that notes gaps
    assert {gap.subject.topic for gap in reading.gaps if gap.subject} >= {part.split("/")[1] for part in left_out}
    assert DamageCode.UNREADABLE_FILE in {each.code for each in verify(store).damages}


def test_bounds_that_no_broker_writes_are_named(tmp_path: Path) -> None:
    store = in_rocksdb(tmp_path / "store")
    shutil.rmtree(store / "consumequeue")
    last = struct.pack(">qq", 0, 1 << 62)
    rows = {bound_key(b"x" * 300, 0): last, bound_key(b"\xfe", 0): last, bound_key(b"T", -1): last, b"max": last}
    database(store / "consumequeue", {"default": {}, "offset": rows | {bound_key(b"T", 1): last}})
    opened = StoreDirectory.open(store)
    assert opened.queue_ids() == []
    assert len(opened.left_out) == 5


def test_a_gap_that_is_not_filled_begins_its_queue_anew(tmp_path: Path) -> None:
    rows = {entry_key(b"T", 0, offset): ENTRY for offset in (0, 1, 1 << 40, (1 << 40) + 1)}
    store = StoreDirectory.open(in_rocksdb(tmp_path / "store", change=lambda entries: entries.update(rows)))
    queue = store.consume_queue("T", 0)
    assert (queue.min_file_offset, queue.max_offset) == (1 << 40, (1 << 40) + 2)
    assert "queue offsets 2 to 1099511627775 hold no entries" in store.left_out[0].reason


def test_what_unpacks_to_more_than_its_files_can_hold_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqctl.store.rocksdb_database._FEW_ROWS", -(1 << 40))
    store = StoreDirectory.open(in_rocksdb(tmp_path / "store"))
    assert "unpacks to more than" in {each.part: each.reason for each in store.unreadable}["consumequeue"]


def test_settings_that_unpack_to_more_than_a_file_of_settings_are_not_read(tmp_path: Path) -> None:
    store = in_rocksdb(tmp_path / "store")
    shutil.rmtree(store / "config" / "topics")
    rows = {b"%d" % number: b" " * (16 << 20) for number in range(17)}
    database(store / "config" / "topics", {"default": rows, "kvDataVersion": {}})
    assert sum(file.stat().st_size for file in (store / "config" / "topics").iterdir()) < 16 << 20
    opened = StoreDirectory.open(store)
    assert "256 MiB" in {each.part: each.reason for each in opened.unreadable}["config/topics"]


def test_files_are_put_into_a_folder_of_our_own_where_a_link_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, temporary = tmp_path / "elsewhere", tmp_path / "tmp"
    for made in (elsewhere, temporary):
        made.mkdir()
    (temporary / f"mqctl-rocksdb-{os.getuid()}").symlink_to(elsewhere)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    store = StoreDirectory.open(in_rocksdb(tmp_path / "store"))
    assert store.consume_queue("Orders", 0).max_offset == 20
    assert list(elsewhere.iterdir()) == []
    assert [path.stat().st_mode & 0o777 for path in temporary.iterdir() if not path.is_symlink()] == [0o700]
