"""Snapshots survive the file, and files that are no snapshots are named as such."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mqctl.errors import BadInputError, NotFoundError, RefusedError
from mqctl.model.config import TopicConfig
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import StorageState
from mqctl.snapshot.archive import load_snapshot, save_snapshot

DAMAGE = Damage(code=DamageCode.BAD_CRC, grade=DamageGrade.DAMAGE, file="commitlog/0", offset=7, params={"expected": 1})
SNAPSHOT = ClusterSnapshot(
    origin=Origin(kind=OriginKind.STORE, location="/s", observed_at_ms=1 << 41, observed_from=ObservedFrom.STORE_TIME),
    brokers=(
        BrokerSnapshot(
            name="broker-a",
            topics=(TopicConfig(name="订单", attributes={"message.type": "FIFO"}),),
            queues=(QueueState(topic="订单", queue_id=3, min_offset=0, max_offset=(1 << 62)),),
            storage=StorageState(has_abort=True, damages=(DAMAGE,)),
        ),
    ),
    unavailable=(Gap(part=Part.DELAY, cause=Cause.SILENT, reason="not there"),),
)


def test_a_saved_snapshot_loads_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    save_snapshot(SNAPSHOT, file)
    loaded = load_snapshot(file)
    assert loaded.brokers == SNAPSHOT.brokers
    assert loaded.unavailable == SNAPSHOT.unavailable
    assert loaded.origin.archive == str(file)
    assert [path.name for path in tmp_path.iterdir()] == ["s.snap"]


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    file.write_text("precious")
    with pytest.raises(RefusedError, match="exists"):
        save_snapshot(SNAPSHOT, file)
    assert file.read_text() == "precious"
    save_snapshot(SNAPSHOT, file, force=True)
    assert load_snapshot(file).brokers == SNAPSHOT.brokers


def test_every_cut_of_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    save_snapshot(SNAPSHOT, file)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(BadInputError):
            load_snapshot(file)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{}", "schema"),
        (b'{"schema":"snapshot/99","snapshot":{}}', "newer mqctl: it has form 99"),
        (b'{"schema":"group.lag/1","snapshot":{}}', "its schema is group.lag/1"),
        (b'{"schema":"snapshot/2","snapshot":{"origin":3}}', "origin"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_foreign_content_is_refused_with_the_reason(tmp_path: Path, text: bytes, reason: str) -> None:
    file = tmp_path / "s.snap"
    file.write_bytes(gzip.compress(text))
    with pytest.raises(BadInputError, match=reason):
        load_snapshot(file)


def test_missing_and_plain_files(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        load_snapshot(tmp_path / "none.snap")
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps({"schema": "snapshot/2"}))
    with pytest.raises(BadInputError, match="not a snapshot"):
        load_snapshot(plain)
    with pytest.raises(BadInputError, match="directory"):
        load_snapshot(tmp_path)


def test_a_small_file_that_claims_to_be_huge_is_refused_piece_by_piece(tmp_path: Path) -> None:
    """Neither its claim nor our limit is allocated at once, nor what it unpacks to beyond the limit."""
    import tracemalloc

    packed = gzip.compress(bytes(8 << 20), mtime=0)
    bomb = tmp_path / "bomb.snap"
    with bomb.open("wb") as stream:
        for _ in range(140):  # members follow one another in one gzip file
            stream.write(packed)
    small = tmp_path / "small.snap"
    small.write_bytes(gzip.compress(b'{"schema":"snapshot/2"}'))
    tracemalloc.start()
    try:
        with pytest.raises(BadInputError):
            load_snapshot(small)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(BadInputError, match="unpacks to more than 1 GiB"):
        load_snapshot(bomb)
