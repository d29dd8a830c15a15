"""Stores behind a URL: in S3 (a server of its protocol on loopback), and in other file systems that fsspec opens."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.errors import BadInputError, ConfigurationError, MqctlError, NotFoundError, StorageError
from mqctl.recording.kinds import RowKind
from mqctl.recording.place import open_place
from mqctl.recording.writer import RecordingWriter
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Query
from mqctl.spark.reports.run import RunSettings, run_report
from mqctl.spark.reports.skew import skew
from mqctl.spark.scan.planning import open_store
from mqctl.spark.scan.remote import begin_look, is_remote, leave, shown
from mqctl.spark.selection import Bounds, Selection
from mqctl.store.ranged import BLOCK_BYTES, Ranged
from tests.conftest import Outcome
from tests.recording.worlds import BEGIN_MS, DAY_MS, HOUR_MS, broker, look
from tests.requires import need_extra
from tests.store.builder import StoreBuilder, message

Run = Callable[..., Outcome]
STORES = ["store-clean", "store-killed", "store-rolled-clean", "store-killed-recovered-clean", "store-5.3.3"]


class Counted:
    """An fsspec file system in memory that counts what is asked of it."""

    def __init__(self) -> None:
        self.system = fsspec.filesystem("memory")
        self.bytes = 0
        self.files: set[str] = set()
        self._read = self.system.cat_file

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **rest: Any) -> bytes:
        data: bytes = self._read(path, start=start, end=end, **rest)
        self.bytes += len(data)
        self.files.add(path)
        return data

    def upload(self, store: Path) -> str:
        root = f"/{uuid.uuid4().hex}"
        for path in store.rglob("*"):
            if path.is_file():
                self.system.pipe_file(f"{root}/{path.relative_to(store)}", path.read_bytes())
        return f"memory:/{root}"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    counted = Counted()
    monkeypatch.setattr(counted.system, "cat_file", counted.cat_file)
    yield counted
    leave()
    counted.system.store.clear()


@pytest.mark.parametrize("name", STORES)
def test_every_report_says_the_same_of_a_store_behind_a_url(
    name: str, golden_store: Callable[[str], Path], memory: Counted
) -> None:
    store = golden_store(name)
    url = memory.upload(store)
    local = run_report(PlainEngine(), Selection((str(store),)), RunSettings())
    remote = run_report(PlainEngine(), Selection((url,)), RunSettings())
    for report in local.keys() - {"capacity"}:  # the disk is another one
        assert repr(remote[report]) == repr(local[report]).replace(str(store), url), report


def big_store(root: Path, messages: int = 4_000) -> tuple[Path, StoreBuilder]:
    """Commit log files of 1 MiB, of which the last is mostly not written yet."""
    builder = StoreBuilder(commit_log_file_bytes=1 << 20)
    for number in range(messages):
        builder.append(
            message("Orders" if number % 4 else "Rare", number % 3, b"x" * 900, store_time_ms=10_000_000 * number)
        )
    return builder.write(root), builder


def test_only_the_ranges_that_hold_what_is_asked_for_are_read(memory: Counted, tmp_path: Path) -> None:
    store, builder = big_store(tmp_path / "store")
    url = memory.upload(store)
    everything = sum(path.stat().st_size for path in (store / "commitlog").iterdir())
    low, high = (builder.messages[number].store_time_ms for number in (1_900, 1_910))
    wanted = Selection((url,), store_time_ms=Bounds(low, high))
    assert sum(row.messages for row in skew(PlainEngine(), wanted, top=1).topics) == 10
    assert memory.bytes < everything * 2 // 3
    before, memory.files = memory.bytes, set()
    begin_look("again")
    wanted = Selection((url,), physical_offset=Bounds(0, 1 << 20))
    assert sum(row.messages for row in skew(PlainEngine(), wanted, top=1).topics) > 900
    assert memory.bytes - before < (3 << 20) + everything // 4, "ends of files are looked for, nothing else is read"


def rare_store(root: Path) -> Path:
    """Commit log files of 1 MiB, of which only the last holds the topic Rare."""
    builder = StoreBuilder(commit_log_file_bytes=1 << 20)
    for number in range(4_000):
        builder.append(message("Rare" if number > 3_900 else "Orders", number % 3, b"x" * 900))
    return builder.write(root)


def test_files_without_an_asked_topic_are_not_read(memory: Counted, tmp_path: Path) -> None:
    store = rare_store(tmp_path / "store")
    url = memory.upload(store)
    skewed = skew(PlainEngine(), Selection((url,), topics=("Rare",)), top=1)
    assert sum(row.messages for row in skewed.topics) == 99
    (read,) = skewed.read
    assert read.messages < 1_100
    everything = sum(path.stat().st_size for path in (store / "commitlog").iterdir())
    queues = sum(path.stat().st_size for path in (store / "consumequeue").rglob("*") if path.is_file())
    assert memory.bytes < everything // 3 + queues + 12 * BLOCK_BYTES
    memory.bytes = 0
    assert skew(PlainEngine(), Selection((url,), topics=("Nothing",)), top=1).topics == []
    assert memory.bytes < queues + 12 * BLOCK_BYTES


@pytest.mark.parametrize("lost", ["one queue", "a topic", "all queues", "the last entry"])
def test_queues_that_do_not_account_for_the_log_hide_no_messages(lost: str, tmp_path: Path) -> None:
    store = rare_store(tmp_path / "store")
    queues = store / "consumequeue"
    if lost == "one queue":
        shutil.rmtree(queues / "Rare" / "1")
    elif lost == "a topic":
        shutil.rmtree(queues / "Rare")
    elif lost == "all queues":
        shutil.rmtree(queues)
    else:
        entries = np.fromfile(queues / "Rare" / "0" / f"{0:020}", dtype=np.uint8)
        entries[32 * 20 : 33 * 20] = 0
        entries.tofile(queues / "Rare" / "0" / f"{0:020}")
    skewed = skew(PlainEngine(), Selection((str(store),), topics=("Rare",)), top=1)
    assert sum(row.messages for row in skewed.topics) == 99


def test_a_backlog_from_queues_reads_no_more_of_the_log_than_a_few_records(memory: Counted, tmp_path: Path) -> None:
    store, _ = big_store(tmp_path / "store")
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@billing":{0:0,1:0,2:0}}}')
    url = memory.upload(store)
    rows = PlainEngine().rows("backlog", Selection((url,)), Query((), quick=True), ("kind", "topic"))
    assert sum(int(str(row["messages"] or 0)) for row in rows) == 3_000
    log = {name for name in memory.files if "/commitlog/" in name}
    assert memory.bytes < 100_000 + 2 * BLOCK_BYTES * (len(log) + 6)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 300_000)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 900_000), st.integers(0, 200_000)), max_size=5),
)
def test_a_ranged_file_shows_the_bytes_that_were_asked_for(
    pieces: list[tuple[bool, int]], asked: list[tuple[int, int]]
) -> None:
    rng = np.random.default_rng(len(pieces))
    data = b"".join(bytes(size) if blank else rng.bytes(size) for blank, size in pieces)
    fetched = []

    def fetch(low: int, high: int) -> bytes:
        fetched.append((low, high))
        return data[low:high]

    file = Ranged(len(data), fetch)
    for low, size in asked:
        file.cover(low, low + size)
        assert file.data[low : low + size].tobytes() == data[low : low + size]
    starts = np.array([low for low, _ in asked], dtype=np.int64)
    again = Ranged(len(data), fetch)
    again.cover_all(starts, np.array([size for _, size in asked], dtype=np.int64))
    for low, size in asked:
        assert again.data[low : low + size].tobytes() == data[low : low + size]
    assert not any(data[file.data_end() :])
    assert file.data_end() <= -(-len(data.rstrip(b"\0")) // BLOCK_BYTES) * BLOCK_BYTES
    assert all(0 <= low < high <= len(data) for low, high in fetched)


def test_what_cannot_be_opened_is_named_with_its_address(memory: Counted, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="memory://nothing/here"):
        open_store("memory://nothing/here")
    with pytest.raises(ConfigurationError, match="carrier-pigeon://loft/store"):
        open_store("carrier-pigeon://loft/store")
    memory.system.pipe_file("/other/readme.txt", b"no store")
    with pytest.raises(BadInputError, match="memory://other") as refused:
        open_store("memory://other")
    assert "mqctl-store-" not in str(refused.value), "nobody knows that directory"
    assert shown("s3://key:secret@bucket/store") == "s3://bucket/store"
    assert [is_remote(each) for each in ("s3://b/x", "/a/b", "file:///a", "zip::s3://b/x", "a:b")] == [
        True, False, False, True, False,
    ]  # fmt: skip


def test_a_file_that_has_shrunk_since_it_was_listed_is_an_error(memory: Counted, tmp_path: Path) -> None:
    store, _ = big_store(tmp_path / "store", 1_500)
    url = memory.upload(store)
    open_store(url)
    name = f"{url.removeprefix('memory:/')}/commitlog/{0:020}"
    memory.system.pipe_file(name, b"short")
    with pytest.raises(StorageError, match="commitlog") as failed:
        skew(PlainEngine(), Selection((url,)), top=1)
    assert url in str(failed.value)


def test_a_file_url_is_a_directory(golden_store: Callable[[str], Path], mqctl: Run) -> None:
    store = golden_store("store-rolled-clean")
    plain = mqctl("report", "tags", "--store", store, "--no-spark", "-o", "json").json
    by_url = mqctl("report", "tags", "--store", store.as_uri(), "--no-spark", "-o", "json").json
    assert by_url["report"]["topics"] == plain["report"]["topics"]


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """A server that speaks S3's protocol; the environment that leads there."""
    need_extra("interop", "moto.server", "flask", "flask_cors", "s3fs")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    server.stop()


def uploaded(s3: dict[str, str], store: Path, bucket: str) -> None:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=s3["AWS_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=bucket)
    for path in store.rglob("*"):
        if path.is_file():
            client.put_object(Bucket=bucket, Key=f"store/{path.relative_to(store)}", Body=path.read_bytes())
    client.close()


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("store-rolled-clean", "pyarrow"),
        ("store-5.3.3", "s3fs"),
        pytest.param("store-rolled-clean", "s3fs", marks=pytest.mark.long),
        pytest.param("store-5.3.3", "pyarrow", marks=pytest.mark.long),
    ],
)
def test_a_store_in_s3(
    name: str, library: str, golden_store: Callable[[str], Path], mqctl: Run, s3: dict[str, str]
) -> None:
    store, bucket = golden_store(name), f"{name}-{library}".lower()
    uploaded(s3, store, bucket)
    where = f"?endpoint_override={s3['AWS_ENDPOINT_URL'].removeprefix('http://')}&scheme=http&region=us-east-1"
    url = f"s3://{bucket}/store{where if library == 'pyarrow' else ''}"
    for words in (["skew"], ["backlog", "--by", "tag"], ["delay"]):
        common = ["report", *words, "--no-spark", "-o", "json"]
        outcome = mqctl(*common, "--store", url, env=s3)
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        assert json.loads(outcome.stdout.replace(url, str(store))) == mqctl(*common, "--store", store).json
    missing = mqctl(
        "report", "skew", "--no-spark", "--store", f"s3://nobodys-bucket/x{url[len(bucket) + 11 :]}", env=s3
    )
    assert missing.exit_code in (66, 74)
    assert "s3://nobodys-bucket/x" in missing.stderr


@pytest.mark.spark
@pytest.mark.long
def test_executors_open_urls_themselves(golden_store: Callable[[str], Path], mqctl: Run, s3: dict[str, str]) -> None:
    need_extra("spark", "pyspark")
    store = golden_store("store-killed")
    uploaded(s3, store, "executors")
    common = ["report", "skew", "-o", "json"]
    url = "s3://executors/store"
    local = ["--master", "local[2]"]
    outcome = mqctl(*common, "--store", f"east={url}", *local, env={**s3, "HOME": ""})
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    here = mqctl(*common, "--store", f"east={store}", "--no-spark").json
    assert json.loads(outcome.stdout.replace(url, str(store))) == here
    assert {row["broker"] for row in here["report"]["queues"]} == {"east"}
    dead = {**s3, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1", "HOME": os.environ.get("HOME", "")}
    refused = mqctl(*common, "--store", url, "--no-spark", env=dead)
    assert refused.exit_code in (74, 78)
    assert url in refused.stderr
    assert "127.0.0.1:9" in refused.stderr


def test_errors_keep_their_parts_on_the_way_to_the_driver() -> None:
    from mqctl.spark.carried import CarriedError, delivered_error

    error = StorageError("could not read bytes 0 to 8 of s3://b/x", reason="gone", remedy="look there")
    error_again: MqctlError = delivered_error(str(CarriedError(error, "worker-7")))
    assert (type(error_again), error_again.problem, error_again.reason) == (
        StorageError,
        error.problem,
        "gone (on worker-7)",
    )


def test_a_recording_lives_in_a_bucket_and_one_that_is_away_is_an_error_with_its_cause(
    mqctl: Run, s3: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    uploaded(s3, tmp_path, "recordings")
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    recorder = RecordingWriter(open_place("s3://recordings/prod"), "ns:9876", every_ms=HOUR_MS, keep_ms=14 * DAY_MS)
    for hour in (0, 1, 2, 6):
        for minute in (0, 30):
            look(recorder, hour * 60 + minute, broker(end=hour * 100 + minute, offset=hour))
    for _ in RowKind:
        recorder.tidy()
    s3fs.S3FileSystem.clear_instance_cache()
    judged = mqctl("doctor", "--recording", "s3://recordings/prod", "--only", "MQ434", "-o", "json", env=s3)
    assert json.loads(judged.stdout)["past"]["begin_ms"] == BEGIN_MS
    assert json.loads(judged.stdout)["observed_at_ms"] == BEGIN_MS + 6 * HOUR_MS + HOUR_MS // 2
    away = {**s3, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "1"}
    lost = mqctl("doctor", "--recording", "s3://recordings/prod", env=away)
    assert lost.exit_code == 74
    assert "could not list the recording s3://recordings/prod" in lost.stderr
    assert "check the URL, its keys and the network" in lost.stderr
