"""Databases of real brokers with one row changed at a time, or a column family more: it is named, or cannot matter."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rocksdict
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.why_words import reason
from mqctl.store.rocksdb import KNOWN_FAMILIES
from tests.conftest import Outcome
from tests.each import each
from tests.store.test_mutated_stores import ODD, copied, judged, root_of, unpacked

Run = Callable[..., Outcome]
STORES = ("stores/store-5.3.3-rocksdb-auth", "stores/store-5.5.0-rocksdb")
Row = tuple[bytes, bytes]


@dataclass(frozen=True)
class RowChange:
    """What becomes of one row.

    Attributes:
        make: makes of a row and an odd word those that stand there instead; a row of the same key is replaced.
        word: what is to be named, of the row's key and the odd word; None where it cannot matter.
    """

    part: str
    family: str
    make: Callable[[Row, str], Row]
    word: Callable[[bytes, str], str] | None


def field(row: Row, odd: str) -> Row:
    return row[0], json.dumps({**json.loads(row[1]), odd: 1}).encode()


def attribute(row: Row, odd: str) -> Row:
    return row[0], json.dumps({**json.loads(row[1]), "attributes": {odd: "1"}}).encode()


def torn(row: Row, odd: str) -> Row:
    return row[0], row[1][: len(row[1]) // 2]


def longer(row: Row, odd: str) -> Row:
    return row[0], row[1] + odd.encode()


def shorter(row: Row, odd: str) -> Row:
    return row[0], row[1][:-1]


def other_key(row: Row, odd: str) -> Row:
    return b"\0\0\0\1" + odd.encode(), row[1]


def other_bound(row: Row, odd: str) -> Row:
    kind = b"\1max\1" if b"\1max\1" in row[0] else b"\1min\1"
    return row[0].replace(kind, b"\1" + odd[-3:].upper().encode() + b"\1"), row[1]


def topic_of(key: bytes, odd: str) -> str:
    return key[5 : 5 + int.from_bytes(key[:4])].decode()


def word_of(key: bytes, odd: str) -> str:
    return odd


TOPICS, GROUPS, OFFSETS, QUEUES = "config/topics", "config/subscriptionGroups", "config/consumerOffsets", "consumequeue"
CHANGES = {
    "field of a topic": RowChange(TOPICS, "default", field, word_of),
    "attribute of a topic": RowChange(TOPICS, "default", attribute, word_of),
    "torn topic": RowChange(TOPICS, "default", torn, lambda key, odd: "topics.json"),
    "field of a group": RowChange(GROUPS, "default", field, word_of),
    "torn group": RowChange(GROUPS, "default", torn, lambda key, odd: "subscriptionGroup.json"),
    "field of offsets": RowChange(OFFSETS, "default", field, word_of),
    "torn offsets": RowChange(OFFSETS, "default", torn, lambda key, odd: key.decode()),
    "later form of an entry": RowChange(QUEUES, "default", longer, topic_of),
    "torn entry": RowChange(QUEUES, "default", shorter, topic_of),
    "key of an entry": RowChange(QUEUES, "default", other_key, word_of),
    "later form of a bound": RowChange(QUEUES, "offset", longer, topic_of),
    "torn bound": RowChange(QUEUES, "offset", shorter, topic_of),
    "kind of a bound": RowChange(QUEUES, "offset", other_bound, topic_of),
    "torn user": RowChange("config/users", "default", torn, lambda key, odd: "config/users"),
    "torn ACL": RowChange("config/acls", "default", torn, lambda key, odd: "config/acls"),
    "version of a table, which nothing compares": RowChange(TOPICS, "kvDataVersion", field, None),
    "later form of a timer, none of which is read": RowChange("rocksdbstore", "timer", longer, None),
    "later form of a transaction, none of which is read": RowChange("rocksdbstore", "trans", longer, None),
    "later form of the index, which only a look for a key needs": RowChange("rocksdbstore", "default", longer, None),
}


@pytest.fixture(scope="module", autouse=True)
def cleaned() -> Iterator[None]:
    yield
    for name in STORES:
        unpacked(name).cleanup()
    unpacked.cache_clear()


def opened_copy(root: Path, part: str) -> rocksdict.Rdict:
    """Opens a database of a store, of which it gets a copy of its own, to write there."""
    source = (root / part).resolve()
    link = root / part if (root / part).is_symlink() else root / part.split("/", maxsplit=1)[0]
    link.unlink()
    shutil.copytree(source, root / part)
    options = rocksdict.Options(raw_mode=True)
    options.create_missing_column_families(True)
    names = rocksdict.Rdict.list_cf(str(root / part), options)
    return rocksdict.Rdict(str(root / part), options, {name: rocksdict.Options(raw_mode=True) for name in names})


def closed(database: rocksdict.Rdict, root: Path, part: str) -> None:
    database.close()
    (root / part / "rocksdict-config.json").unlink(missing_ok=True)


def changed(root: Path, change: RowChange, number: int, odd: str) -> bytes | None:
    """Changes one of the rows; returns its key, and None where the store has none of the kind."""
    if not (root / change.part / "CURRENT").exists():
        return None
    database = opened_copy(root, change.part)
    try:
        if change.family not in rocksdict.Rdict.list_cf(str(root / change.part)):
            return None
        family = database.get_column_family(change.family)
        rows = [row for row in family.items() if b"CHECKPOINT" not in row[0]]
        if not rows:
            return None
        row = rows[number % len(rows)]
        del family[row[0]]
        key, value = change.make(row, odd)
        family[key] = value
        family.flush()
        return bytes(row[0])
    finally:
        closed(database, root, change.part)


@cache
def intact(name: str) -> Diagnosis:
    return judged(root_of(name))


def must_be_named(name: str, kind: str, number: int, odd: str) -> bool:
    """Changes a row and holds that this is named, or changes nothing; False where the store has none of the kind."""
    change = CHANGES[kind]
    with TemporaryDirectory() as directory:
        root = copied(root_of(name), Path(directory, "store"))
        key = changed(root, change, number, odd)
        if key is None:
            return False
        after, before = judged(root), intact(name)
    if change.word is None:
        assert (after.findings, after.not_judged) == (before.findings, before.not_judged)
        return True
    said = " ".join(
        [f"{item.subject} {reason(item.why)}" for item in after.not_judged if item not in before.not_judged]
        + [f"{item.subject} {item.params}" for item in after.findings if item not in before.findings]
    )
    assert change.word(key, odd) in said, (kind, key, said)
    assert after.exit_code() != 0
    return True


@seed(50)
@settings(max_examples=40)
@given(name=st.sampled_from(STORES), kind=st.sampled_from(sorted(CHANGES)), number=st.integers(0, 99), odd=ODD)
def test_one_changed_row_is_named_or_cannot_matter(name: str, kind: str, number: int, odd: str) -> None:
    must_be_named(name, kind, number, odd)


@each("kind", CHANGES)
def test_every_change_finds_a_row(kind: str) -> None:
    assert any(must_be_named(name, kind, 1, "next") for name in STORES)


@each("part", KNOWN_FAMILIES)
def test_a_column_family_to_come_is_named(mqctl: Run, tmp_path: Path, part: str) -> None:
    root = copied(root_of(STORES[part not in ("config/users", "config/acls")]), tmp_path / part.replace("/", "-"))
    database = opened_copy(root, part)
    database.create_column_family("nextFamily", rocksdict.Options(raw_mode=True))[b"a"] = b"1"
    closed(database, root, part)
    verified = mqctl("store", "verify", "--store", root, "-o", "json")
    assert f"{part}/nextFamily" in [row["part"] for row in verified.json["not_read"]]
    assert verified.exit_code == 3
    judged_now = mqctl("doctor", "--store", root, "--only", "MQ102", "-o", "json")
    assert (judged_now.exit_code, f"{part}/nextFamily" in judged_now.stdout) == (3, True)
