"""Readers of what people and tools write: expressions, thread dumps, snapshots, plans, rules, journals, profiles."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from mqctl.changes.engine.journal import Journal
from mqctl.changes.plan.plan_file import read_plan
from mqctl.changes.plan.range_file import read_ranges
from mqctl.cli.connection.profiles import load_profiles
from mqctl.commands.check.checks_file import load_expectations
from mqctl.commands.doctor.known_states import load_known
from mqctl.commands.stacks.files import classifier_of
from mqctl.errors import MqctlError
from mqctl.filter.lint import lint
from mqctl.filter.sql import compile_sql
from mqctl.filter.tags import parse_tags
from mqctl.local.scenario_files import read_scenario
from mqctl.local.state import LocalStates
from mqctl.model.delay_level import DelayLevelTable
from mqctl.playbook.reading import read_playbook
from mqctl.rules import diagnose
from mqctl.snapshot.archive import load_snapshot, save_snapshot
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.stacks.classify import Classifier
from mqctl.stacks.collapsed import collapsed
from mqctl.stacks.group import report_threads
from mqctl.stacks.parse import read_dumps, read_stream
from tests.conftest import REPOSITORY
from tests.reliability.fuzz import corpus
from tests.reliability.fuzz.engine import Target
from tests.snapshot.test_any_damage import START, small_store

_PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"a": "1", "b": "x"},
    {"a": "-9223372036854775808", "b": "", "c": "1e309", "d": "true"},
)


def read_sql(data: bytes) -> None:
    """Compiled as both releases do, looked through, and evaluated."""
    text = data.decode("utf-8", "replace")
    for is_v5 in (True, False):
        compiled = compile_sql(text, is_v5=is_v5)
        lint(compiled)
        for properties in _PROPERTIES:
            compiled.matches(properties)


def read_expressions(data: bytes) -> None:
    """Tag expressions and delay level tables."""
    text = data.decode("utf-8", "replace")
    parse_tags(text).wants("a")
    table = DelayLevelTable.parse(text)
    assert table.max_level >= 0


def read_dump(data: bytes) -> None:
    """Dumps never raise: what cannot be read is left out and said."""
    dumps = read_stream(BytesIO(data), source="fuzz")
    read_dumps(data.decode("utf-8", "replace"), source="fuzz")
    if dumps:
        report_threads(dumps, Classifier())
        collapsed(dumps)


@contextmanager
def _file(name: str, data: bytes) -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        path = Path(directory) / name
        path.write_bytes(data)
        yield path


def read_snapshot(data: bytes) -> None:
    """A snapshot as somebody attached it to a ticket: packed, or its text packed here."""
    packed = data if data[:2] == b"\x1f\x8b" else gzip.compress(data, compresslevel=1, mtime=0)
    with _file("s.snap", packed) as path:
        diagnose(load_snapshot(path))


def read_user_files(data: bytes) -> None:
    """Profiles, expectations, known states, class rules: YAML that people write."""
    readers: tuple[Callable[[Path], object], ...] = (
        lambda path: load_profiles(path.parent), load_expectations, load_known, classifier_of,
        lambda path: read_scenario("x", data, str(path)), lambda path: read_playbook("x", path),
    )  # fmt: skip
    with _file("profiles.yaml", data) as path:
        for reader in readers:
            try:
                reader(path)
            except MqctlError as error:
                assert error.problem


def read_journals(data: bytes) -> None:
    """Journals and states that this machine keeps, after a crash of the machine or of a disk."""
    for suffix in ("json", "ndjson"):
        with _file(f"x.{suffix}", data) as path:
            journal = Journal(path.parent)
            drawers = (journal.offsets, journal.settings, journal.resends, journal.replays, journal.steps("x"))
            readers: list[Callable[[], object]] = [partial(_states, path.parent)]
            for drawer in drawers:
                drawer.directory = path.parent
                readers.append(drawer.all)
            for reader in readers:
                try:
                    reader()
                except MqctlError as error:
                    assert error.problem


def read_plan_files(data: bytes) -> None:
    """Plans of offsets and of replays, as JSON and CSV; they raise ValueError or msgspec's errors by contract."""
    import msgspec

    for reader in (read_plan, read_ranges):
        for is_csv in (True, False):
            try:
                reader(data, is_csv=is_csv)
            except (ValueError, msgspec.DecodeError):
                continue


def _plan_seeds() -> list[bytes]:
    rows = b'topic,broker_name,queue_id,old,new\nT,b,0,1,2\n"T\nx",b,1,,5\n'
    plan = {"group": "G", "queues": [{"topic": "T", "broker_name": "b", "queue_id": 0, "new": 5}]}
    return [rows, b"\xef\xbb\xbf" + rows, json.dumps(plan).encode()]


def _states(directory: Path) -> list[object]:
    return list(LocalStates(directory).all())


def _sql_seeds() -> list[bytes]:
    return [
        text.encode()
        for text in (
            "a > 5 AND b = 'x' OR NOT (c IS NULL)", "a BETWEEN 1 AND 3 AND b IN ('x','y') ", "-a < 1.5e3 OR TRUE",
            "a NOT BETWEEN 0x1F AND 9223372036854775807", "b CONTAINS 'it''s' OR b STARTSWITH 'x' /* y */ -- z",
            "((((((a))))))", "a <> 1 AND a >= .5 AND b NOT IN ('q') AND c IS NOT NULL",
        )
    ]  # fmt: skip


def _snapshot_seeds() -> list[bytes]:
    with TemporaryDirectory() as name:
        root = small_store(Path(name) / "store")
        file = Path(name) / "s.snap"
        save_snapshot(gather_store(root, at_ms=START + 60_000), file)
        packed = file.read_bytes()
    return [packed, gzip.decompress(packed)]


def _user_file_seeds() -> list[bytes]:
    return [
        b"current: a\nprofiles:\n  a: {namesrv: '127.0.0.1:9876', timeout_ms: 5000}\n",
        b"groups:\n- {name: G, lag: {max: 5}}\ntopics:\n- {name: T, queues: 4}\n", b"&a [*a, *a]\n",
        b"!!python/none x\n",
        b"rules:\n- {class: db, pattern: 'com.mysql.*', name: x}\napplication: [com.x]\n",
        b"- {code: MQ401, reason: x, until: 2026-01-01}\n",
        b"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
        *(path.read_bytes() for path in sorted(REPOSITORY.glob("playbooks/*/playbook.yaml"))[:3]),
        *(path.read_bytes() for path in sorted(REPOSITORY.glob("mqctl/local/scenarios/*.yaml"))[:3]),
        b"a: &x [1,2]\nb: [*x,*x]\n",
        b"- 2026-99-99\n- 12:99:99\n", b"[" * 500, b"{" * 500, b"- " * 500, b"rules:\n- {class: !!binary x}\n",
    ]  # fmt: skip


def _journal_seeds() -> list[bytes]:
    queue = {"topic": "T", "broker_name": "b", "queue_id": 0, "old": 1, "new": 2, "state": "sent"}
    queue |= {"found": None, "reason": None}
    change = {
        "id": "x", "kind": "reset", "group": "G", "target": "earliest", "method": "write", "who": "me@here",
        "made_at_ms": 1, "cluster": "C", "brokers": {"b": "127.0.0.1:1"}, "queues": [queue],
    }  # fmt: skip
    letter = {"letter_id": "i", "unique_key": "k", "topic": "T"}
    resend = {
        "id": "x", "group": "G", "to_topic": "T", "rate": 1.0, "who": "me", "made_at_ms": 1, "cluster": "C",
        "brokers": {}, "letters": [letter],
    }  # fmt: skip
    lines = json.dumps(resend) + '\n\n{"letter":0,"state":"sent"}\n{"ended":true}\n'
    old = json.dumps(change).encode(), lines.encode()
    letters = {
        "performer": "resend", "id": "x", "kind": "dlq-resend", "subject": "G", "to_topic": "T", "rate": 1.0,
        "who": "me", "made_at_ms": 1, "cluster": "C", "brokers": {}, "parts": [letter],
    }  # fmt: skip
    lines = json.dumps(letters) + '\n\n{"part":0,"state":"sent"}\n{"ended":true}\n'
    change = {**change, "performer": "offsets", "subject": "G", "parts": [queue]}
    return [*old, json.dumps(change).encode(), lines.encode()]


_SQL_WORDS = tuple(
    b"( ) AND OR NOT IN IS NULL BETWEEN CONTAINS '' ' -- /* */ - + . 0x 1e309 9223372036854775808 TRUE = <> >=".split()
)
_DUMP_WORDS = (b'"t" #1 prio=5 ', b"\tat a.b.C.d(E.java:1)\n", b"\n\n", b"Thread 1 (idle)", b"[{", b"TID: 1 STATE: ")
_JSON = (b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"1e309", b"-1", b"9" * 30, b'"schema"', b"\\ud800")
_YAML = (
    b"&a ", b"*a", b"- ", b"? ", b": ", b"!!", b"2026-99-99", b"!!bool x", b"!!timestamp x", b"!!int ''", b"!!set ",
    b"<<: *a", *_JSON,
)  # fmt: skip
TARGETS = (
    Target("sql", _sql_seeds, read_sql, _SQL_WORDS, 12),
    Target(
        "expressions", lambda: [b"a || b", b"1s 5s 10m 2h 1d", b"*", b"||"], read_expressions, (b"||", b"s", b"d"), 12
    ),
    Target("dumps", corpus.dumps, read_dump, _DUMP_WORDS, 0.1),
    Target("snapshots", _snapshot_seeds, read_snapshot, _JSON, 0.3),
    Target("user-files", _user_file_seeds, read_user_files, _YAML, 0.3),
    Target("plan-files", _plan_seeds, read_plan_files, (b",", b"\n", b'"', b"\0", *_JSON), 16),
    Target("journals", _journal_seeds, read_journals, _JSON, 0.3),
)
