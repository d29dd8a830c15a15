"""Stores of real brokers with one thing changed at a time to what no broker writes: it is named, or cannot matter."""

from __future__ import annotations

import json
import os
import string
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.protocol.fastjson import loads
from mqctl.rules import diagnose
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.why_words import reason
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.store.directory import StoreDirectory
from mqctl.store.layouts import MAGIC_V1_BYTES
from mqctl.store.verify import verify
from tests.conftest import GOLDEN, Outcome
from tests.each import each

Run = Callable[..., Outcome]
Table = dict[str, Any]
NOW = 2_000_000_000_000
ARCHIVES = {
    file.parent.name + "/" + file.name.removesuffix(".tar.gz"): file
    for file in sorted([*(GOLDEN / "stores").glob("*.tar.gz"), *(GOLDEN / "recorded").glob("*/store-*.tar.gz")])
}
ODD = st.text(string.ascii_letters, min_size=1, max_size=12).map(lambda word: f"next{word}")


@dataclass(frozen=True)
class Change:
    """What becomes of one file of tables.

    Attributes:
        make: changes the document with an odd word; returns whether it has what is to be changed.
        named: whether it is to be named; another change cannot matter, and the diagnosis stays as it was.
    """

    file: str
    make: Callable[[Table, str], bool]
    named: bool = True


def own(table: Table, is_own: Callable[[str], bool]) -> Table | None:
    """The first entry that is an application's."""
    return next((entry for name, entry in sorted(table.items()) if is_own(name) and isinstance(entry, dict)), None)


def of_topic(field: str, value: Callable[[str], Any]) -> Callable[[Table, str], bool]:
    def make(document: Table, odd: str) -> bool:
        is_own = lambda name: not is_system_topic(name) and group_of(name) is None  # noqa: E731
        entry = own(document.get("topicConfigTable", {}), is_own)
        if entry is not None:
            entry[field if field else odd] = value(odd)
        return entry is not None

    return make


def of_group(field: str, value: Callable[[str], Any]) -> Callable[[Table, str], bool]:
    def make(document: Table, odd: str) -> bool:
        entry = own(document.get("subscriptionGroupTable", {}), lambda name: not is_system_group(name))
        if entry is not None:
            entry[field if field else odd] = value(odd)
        return entry is not None

    return make


def table(document: Table, odd: str) -> bool:
    document[odd] = {"a": 1}
    return True


def of_mode(field: str) -> Callable[[Table, str], bool]:
    def make(document: Table, odd: str) -> bool:
        entries = [entry for groups in document.get("messageRequestModeMap", {}).values() for entry in groups.values()]
        for entry in entries:
            entry[field if field else odd] = odd
        return bool(entries)

    return make


def of_filter(document: Table, odd: str) -> bool:
    entries = [
        entry for topic in document.get("filterDataByTopic", {}).values() for entry in topic["groupFilterData"].values()
    ]
    for entry in entries:
        entry["expressionType"] = odd
    return bool(entries)


def level(document: Table, odd: str) -> bool:
    document["orderedConsumptionLevel"] = odd
    return True


def batch(document: Table, odd: str) -> bool:
    document["table"] = {"T@G": {"0": {odd: 1, "popTime": 1, "o": [0]}}}
    return True


CHANGES = {
    "mode of a group": Change("messageRequestMode.json", of_mode("mode")),
    "field of a mode": Change("messageRequestMode.json", of_mode("")),
    "table of modes": Change("messageRequestMode.json", table),
    "level of ordered consumption": Change("consumerOrderInfo.json", level),
    "field of an ordered batch": Change("consumerOrderInfo.json", batch),
    "type of a filter": Change("consumerFilter.json", of_filter),
    "table of filters": Change("consumerFilter.json", table),
    "type of a topic": Change("topics.json", of_topic("attributes", lambda odd: {"message.type": odd})),
    "attribute of a topic": Change("topics.json", of_topic("attributes", lambda odd: {odd: "1"})),
    "permission of a topic": Change("topics.json", of_topic("perm", lambda odd: 16 * len(odd) + 6)),
    "field of a topic": Change("topics.json", of_topic("", lambda odd: odd)),
    "class filters, which no broker has any more": Change(
        "topics.json", of_topic("topicFilterType", lambda odd: odd), named=False
    ),
    "units of a topic, which nothing reads": Change("topics.json", of_topic("topicSysFlag", len), named=False),
    "attribute of a group": Change("subscriptionGroup.json", of_group("attributes", lambda odd: {odd: "1"})),
    "retries of a group": Change("subscriptionGroup.json", of_group("groupRetryPolicy", lambda odd: {"type": odd})),
    "field of a group": Change("subscriptionGroup.json", of_group("", lambda odd: odd)),
    "table of topics": Change("topics.json", table),
    "table of groups": Change("subscriptionGroup.json", table),
    "table of offsets": Change("consumerOffset.json", table),
    "table of light offsets": Change("lmqConsumerOffset.json", table),
    "table of delays": Change("delayOffset.json", table),
}


@cache
def unpacked(name: str) -> TemporaryDirectory[str]:
    directory = TemporaryDirectory()
    with tarfile.open(ARCHIVES[name]) as archive:
        archive.extractall(directory.name, filter="tar")
    return directory


def root_of(name: str) -> Path:
    (root,) = (path for path in Path(unpacked(name).name).iterdir() if path.is_dir())
    return root


@pytest.fixture(scope="module", autouse=True)
def cleaned() -> Iterator[None]:
    yield
    for name in ARCHIVES:
        unpacked(name).cleanup()
    unpacked.cache_clear()


def copied(store: Path, target: Path) -> Path:
    """A store whose files of tables are its own; the rest leads to the original."""
    (target / "config").mkdir(parents=True)
    for part in store.iterdir():
        if part.name != "config":
            (target / part.name).symlink_to(part)
    for part in (store / "config").iterdir():
        (target / "config" / part.name).symlink_to(part)
    return target


def changed(root: Path, change: Change, odd: str) -> bool:
    """Changes a file and its copy, as old as they were; False where the store has nothing of the kind."""
    done = False
    for name in (change.file, f"{change.file}.bak"):
        file = root / "config" / name
        if not file.is_file() or not isinstance(document := loads(file.read_bytes()), dict):
            continue
        if change.make(document, odd):
            status, done = file.stat(), True
            file.unlink()
            file.write_text(json.dumps(document))
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return done


def judged(root: Path) -> Diagnosis:
    return diagnose(gather_store(root, at_ms=NOW))


@cache
def intact(name: str) -> Diagnosis:
    return judged(root_of(name))


@each("name", ARCHIVES)
def test_all_that_real_brokers_wrote_is_known(name: str) -> None:
    store = StoreDirectory.open(root_of(name))
    assert (store.unknown, store.unknown_fields()) == ([], [])


def must_be_named(name: str, kind: str, odd: str) -> bool:
    """Changes a store and holds that this is named, or changes nothing; False where it has nothing of the kind."""
    change = CHANGES[kind]
    with TemporaryDirectory() as directory:
        root = copied(root_of(name), Path(directory, "store"))
        if not changed(root, change, odd):
            return False
        after, before = judged(root), intact(name)
    if not change.named:
        assert (after.findings, after.not_judged) == (before.findings, before.not_judged)
        return True
    news = [item for item in after.not_judged if item not in before.not_judged]
    said = " ".join(f"{item.subject} {reason(item.why)}" for item in news)
    word = str(16 * len(odd) + 6) if kind == "permission of a topic" else odd
    assert word in said, (kind, said)
    assert after.exit_code() != 0
    return True


@seed(49)
@settings(max_examples=60)
@given(name=st.sampled_from(sorted(ARCHIVES)), kind=st.sampled_from(sorted(CHANGES)), odd=ODD)
def test_one_change_of_a_table_is_named_or_cannot_matter(name: str, kind: str, odd: str) -> None:
    must_be_named(name, kind, odd)


@each("kind", CHANGES)
def test_every_change_finds_a_store_that_has_what_it_changes(kind: str) -> None:
    assert any(must_be_named(name, kind, "next") for name in ARCHIVES)


@each("name", ["stores/store-rolled-clean", "4.9.7/store-tidy", "5.5.0/store-tidy"])
def test_a_form_of_record_to_come_is_named_where_it_begins(name: str, tmp_path: Path) -> None:
    """A later form of message has another magic: the log is not read beyond it as if it ended there."""
    root = copied(root_of(name), tmp_path / name)
    log = root / "commitlog"
    files = sorted(log.resolve().iterdir())
    log.unlink()
    log.mkdir()
    for file in files:
        (log / file.name).symlink_to(file)
    content = bytearray(files[0].read_bytes())
    at = content.find(MAGIC_V1_BYTES, content.find(MAGIC_V1_BYTES) + 100)
    content[at : at + 4] = (int.from_bytes(MAGIC_V1_BYTES) + 12).to_bytes(4)
    (log / files[0].name).unlink()
    (log / files[0].name).write_bytes(content)
    before = verify(StoreDirectory.open(root_of(name))).damages
    damages = [item for item in verify(StoreDirectory.open(root)).damages if item not in before]
    assert any(item.offset == at - 4 for item in damages), damages


def test_a_field_to_come_leaves_no_all_clear(mqctl: Run, tmp_path: Path) -> None:
    root = copied(root_of("stores/store-rolled-clean"), tmp_path / "store")
    assert mqctl("store", "verify", "--store", root).exit_code == 0
    assert changed(root, CHANGES["field of a topic"], "liteMode")
    verified = mqctl("store", "verify", "--store", root, "-o", "json")
    parts = [row["part"] for row in verified.json["not_read"]]
    assert (verified.exit_code, parts) == (3, ["config/topics.json: topicConfigTable.*.liteMode"])


@each("kind", ["type of a topic", "attribute of a topic", "permission of a topic"])
def test_a_topic_of_a_kind_to_come_leaves_no_all_clear(mqctl: Run, tmp_path: Path, kind: str) -> None:
    root = copied(root_of("stores/store-rolled-clean"), tmp_path / kind)
    assert changed(root, CHANGES[kind], "nextKind")
    verified = mqctl("store", "verify", "--store", root, "-o", "json")
    ((part, why),) = [(row["part"], row["reason"]) for row in verified.json["not_read"]]
    word = "134" if kind == "permission of a topic" else "nextKind"
    assert (verified.exit_code, part.startswith("config/topics.json: "), word in why) == (3, True, True)
