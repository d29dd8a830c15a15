"""Recorded frames for the tests of the wire."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[1] / "golden" / "frames" / "frames.tar.gz"


@dataclass(frozen=True)
class RecordedFrame:
    """One frame of a recording with what its index says."""

    name: str
    data: bytes
    request_code: int
    is_response: bool
    serialize: str
    header: dict[str, Any]
    body_bytes: int


@pytest.fixture(scope="session")
def recorded_frames() -> list[RecordedFrame]:
    """The sample that every clone carries."""
    with tarfile.open(SAMPLE) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    return [
        RecordedFrame(
            name=entry["file"],
            data=contents[entry["file"]],
            request_code=entry["request_code"],
            is_response=entry["kind"] == "response",
            serialize=entry["serialize"],
            header=entry["header"],
            body_bytes=entry["body_bytes"],
        )
        for entry in json.loads(contents["index.json"])
    ]


@pytest.fixture(scope="session")
def all_recorded_frames(full_golden: Path) -> list[RecordedFrame]:
    """Every frame of both releases that is one (probes with broken frames have no header in the index)."""
    frames: list[RecordedFrame] = []
    old = full_golden / "rocketmq-4.9.8"
    for entry in json.loads((old / "index.json").read_text()):
        if entry.get("header") and entry["code"]:
            response = entry["direction"] == "response"
            frames.append(_frame(old / entry["file"], entry["code"], response, entry, entry["body_length"]))
    for part in ("frames", "frames_online"):
        base = full_golden / "rocketmq-5.3.3" / part
        for entry in json.loads((base / "index.json").read_text()):
            response = entry["kind"] == "response"
            path = base / "frames" / entry["file"]
            frames.append(_frame(path, entry["req_code"], response, entry, entry["body_len"]))
    return frames


def _frame(path: Path, code: int, response: bool, entry: dict[str, Any], body_bytes: int) -> RecordedFrame:
    return RecordedFrame(
        name=path.name,
        data=path.read_bytes(),
        request_code=code,
        is_response=response,
        serialize=entry["serialize"],
        header=entry["header"],
        body_bytes=body_bytes,
    )
