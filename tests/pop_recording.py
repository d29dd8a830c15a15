"""What 5.3.3 sent and stored in POP sessions (`golden/pop`), for the tests of several rooms."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mqctl.model.message import Message
from mqctl.protocol.frame import RemotingCommand, decode
from mqctl.protocol.message_record import decode_message

_GOLDEN = Path(__file__).parent / "golden" / "pop"


@dataclass(frozen=True)
class PopFrame:
    """One recorded frame.

    Attributes:
        note: says of one made by hand what it tries.
        is_ours: the broker or name server sent it.
        of_name_server: it went to or came from the name server.
    """

    seq: int
    session: str
    connection: int
    request_code: int
    request_seq: int | None
    at_ms: int
    note: str
    is_ours: bool
    of_name_server: bool
    command: RemotingCommand


@lru_cache
def recorded_pop_frames() -> tuple[PopFrame, ...]:
    """Returns all frames in the order of the recording."""
    with tarfile.open(_GOLDEN / "frames.tar.xz") as archive:
        contents = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    return tuple(
        PopFrame(
            seq=entry["seq"],
            session=entry["session"],
            connection=entry["conn"],
            request_code=entry["req_code"],
            request_seq=entry["req_seq"],
            at_ms=entry["t_ms"],
            note=entry.get("note", ""),
            is_ours=entry["dir"] == "s2c",
            of_name_server="_ns_" in entry["file"],
            command=decode(contents[entry["file"]]),
        )
        for entry in json.loads(contents["index.json"])
    )


def truth() -> dict[str, Any]:
    """Returns what is known of the recorded store."""
    figures: dict[str, Any] = json.loads((_GOLDEN / "truth.json").read_text())["clean"]
    return figures


def unpack_recorded_store(target: Path) -> Path:
    """Unpacks the recorded store below `target` and returns its directory."""
    with tarfile.open(_GOLDEN / "store-pop-clean.tar.gz") as archive:
        archive.extractall(target, filter="data")
    return target / "store"


def records_of_recorded_store() -> list[Message]:
    """Returns every message of the recorded commit log."""
    with tarfile.open(_GOLDEN / "store-pop-clean.tar.gz") as archive:
        log = archive.extractfile("store/commitlog/00000000000000000000").read()  # type: ignore[union-attr]
    records, position = [], 0
    while size := int.from_bytes(log[position : position + 4], "big"):
        records.append(decode_message(log[position : position + size]))
        position += size
    return records
