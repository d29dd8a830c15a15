"""What lies in a store and is no broker's is named, and nothing that it may be evidence of is called fine."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqctl.store.known_parts import DIRECTORIES, FILES, TABLES, unknown_parts
from tests.conftest import GOLDEN, Outcome
from tests.each import each

Run = Callable[..., Outcome]
STORES = sorted(file.name.removesuffix(".tar.gz") for file in (GOLDEN / "stores").glob("*.tar.gz"))
KNOWN = [*DIRECTORIES, *FILES, *(f"config/{table}" for table in TABLES)]
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=5, max_size=30)
COPIES = st.sampled_from(["", ".bak", ".tmp", ".bak.bak", ".20260101", ".set-aside"])


def made(*parts: str) -> list[str]:
    """What is not known of a store of these parts."""
    with TemporaryDirectory() as directory:
        for part in parts:
            path = Path(directory, part)
            path.parent.mkdir(exist_ok=True)
            path.touch()
        return unknown_parts(Path(directory))


@each("name", STORES)
def test_all_that_real_brokers_wrote_is_known(golden_store: Callable[[str], Path], name: str) -> None:
    assert unknown_parts(golden_store(name)) == []


@given(parts=st.lists(st.builds(str.__add__, st.sampled_from(KNOWN), COPIES), unique=True))
@settings(max_examples=30)
def test_copies_of_known_parts_are_known(parts: list[str]) -> None:
    assert made(*(part for part in parts if part not in ("config", *DIRECTORIES))) == []


@given(root=NAMES, table=NAMES, copy=COPIES)
@example(root="indexRocksdb", table="liteOffset.json", copy="")
@example(root="commitlog2", table="topics.json2", copy=".bak")
@settings(max_examples=30)
def test_what_no_broker_writes_is_named(root: str, table: str, copy: str) -> None:
    unknown = [part for part in (root + copy, f"config/{table}{copy}") if part.removesuffix(copy) not in KNOWN]
    assert made("checkpoint", "config/topics.json", root + copy, f"config/{table}{copy}") == (
        [part for part in unknown if part.split("/")[0] not in ("benchmark",)]
    )


def test_what_hosts_and_people_leave_behind_is_nothing() -> None:
    assert made(".DS_Store", "notes.txt", "broker.conf", "logs/a", "conf/b", "config/topics.json~", "gc.log") == []


def test_an_unknown_part_leaves_no_all_clear(mqctl: Run, store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-clean")
    assert mqctl("store", "verify", "--store", store).exit_code == 0
    (store / "nextEngine").mkdir()
    (store / "config" / "nextTable.json").write_text("{}")
    verified = mqctl("store", "verify", "--store", store, "-o", "json")
    unread = [row["part"] for row in json.loads(verified.stdout)["not_read"]]
    assert (verified.exit_code, unread) == (3, ["nextEngine", "config/nextTable.json"])
    judged = mqctl("doctor", "--store", store, "--only", "MQ102", "-o", "json")
    ((reason,),) = [cause["reasons"] for cause in json.loads(judged.stdout)["not_judged_causes"]]
    assert (judged.exit_code, "nextEngine, config/nextTable.json" in judged.stdout) == (3, True), reason
