"""Writes `worlds.tar.xz`: a snapshot of each fault that a test of the rules has and of each twin without it, and a
recording of a night. `python -m benchmarks.sameness.worlds`, where the worlds of the tests have changed.

They are kept in the repository because both trees must read the same files, whichever of them could still write them.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mqctl.errors import UnreachableError
from mqctl.recording.writer import LookTime
from mqctl.snapshot.archive import save_snapshot
from tests.incidents.corpus import INCIDENTS
from tests.incidents.incident import State
from tests.recording.worlds import at, broker, look, writer
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, cluster
from tests.rules.twins import TWINS

ARCHIVE = Path(__file__).with_name("worlds.tar.xz")
MEMBERS = {"one@1": "10.0.0.1:1", "two@1": "10.0.0.2:1"}


def _worlds() -> Iterator[tuple[str, State]]:
    faults = [*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS)]
    for fault in faults:
        yield fault.label, fault.broker
    for code, twin in TWINS.items():
        yield f"{code}-without", twin.state
    for incident in INCIDENTS:
        if incident.world is not None and not callable(incident.world):
            yield f"incident-{incident.number}", incident.world


def _save_snapshots(directory: Path) -> None:
    """Writes each world once, unpacked: hundreds of files that resemble each other are packed together."""
    directory.mkdir()
    seen: dict[bytes, str] = {}
    for name, state in _worlds():
        path = directory / f"{name}.snap"
        if path.with_suffix(".json").exists():
            path = directory / f"{name}-{len(seen)}.snap"
        save_snapshot(cluster(state), path)
        text = gzip.decompress(path.read_bytes())
        path.unlink()
        if text not in seen:
            seen[text] = name
            path.with_suffix(".json").write_bytes(text)


def _record(place: Path) -> None:
    """By minute: 4 one@1 goes, 6 to 14 nobody consumes, 16 other tags and a shorter retention, 18 the disk fills, 20 to
    22 broker-b is gone, 26 a reset to the past; from 31 the recorder is away, 95 it is back, 98 nobody answers."""
    recorder = writer(place)
    for minute in range(32):
        members = {} if 6 <= minute < 14 else MEMBERS if minute < 4 else {"two@1": "10.0.0.2:1"}
        own = broker(
            end=minute * 300,
            offset=3_000 if minute >= 26 else min(minute, 6 if minute < 14 else minute) * 300,
            waits_since_ms=at(6) if 6 < minute < 14 else None,
            members=members,
            runtime={"commitLogDiskRatio": "0.9" if minute >= 18 else "0.5"},
            config={"fileReservedTime": "48" if minute >= 16 else "72"},
            tags=("A", "B") if minute >= 16 else ("A",),
        )
        look(recorder, minute, own, *([] if 20 <= minute < 22 else [broker("broker-b")]))
    recorder = writer(place)
    for minute in (95, 96, 97, 101):
        look(recorder, minute, broker(end=29_000, offset=29_000, members=MEMBERS), broker("broker-b"))
        if minute == 97:
            error = UnreachableError("could not ask any name server", reason="refused")
            recorder.failed(error, LookTime(wall_ms=at(98), steady_ms=at(98)))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Says nothing of who made it, and when."""
    mode = 0o755 if member.isdir() else 0o644
    return member.replace(uid=0, gid=0, uname="", gname="", mtime=1_767_225_600, mode=mode, deep=False)


def main() -> None:
    with TemporaryDirectory() as temporary:
        root = Path(temporary)
        _save_snapshots(root / "worlds")
        _record(root / "recording")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:xz") as archive:
            for name in ("worlds", "recording"):
                archive.add(root / name, name, filter=_plain)
        ARCHIVE.write_bytes(packed.getvalue())


if __name__ == "__main__":
    main()
