"""What a released broker writes on the wire and to its store, kept as golden data with release, date and hashes.

One broker does a round of work, ends tidily, starts again on its store and is killed in the middle of sends. Its store
is kept after both ends, and of the frames one of each kind.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import socket
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from mqctl.protocol.frame import RemotingCommand, decode
from tests.cached import cache, ran
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.real.artifacts import is_v5, jars
from tests.real.cluster import Plan, up
from tests.real.members import wait
from tests.real.rounds import LIGHT, SETTINGS, Round

_BURST, _WRITTEN_S, _TAR_S = 200, 60.0, 60
_WHO = "broker-a"
_PACK = [
    "tar",
    "--sparse",
    "--hole-detection=raw",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--sort=name",
    "--exclude=OPTIONS-*",
    "-czf",
]
"""OPTIONS of RocksDB, which it does without, name directories of the machine."""


class _Noted(socket.socket):
    """The socket of a peer; what goes through it is kept."""

    def __init__(self, peer: Peer) -> None:
        timeout = peer.socket.gettimeout()
        super().__init__(fileno=peer.socket.detach())
        self.settimeout(timeout)
        self.sent, self.received = bytearray(), bytearray()
        peer.socket = self

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
        """Sends, and keeps what it sends."""
        self.sent += data
        super().sendall(data, flags)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receives, and keeps what came."""
        data = super().recv(size, flags)
        self.received += data
        return data


@dataclass
class _Frames:
    """What the broker wrote, one frame of each kind: request code, whether it is an answer, response code."""

    release: str
    kept: dict[tuple[int, bool, int], bytes] = field(default_factory=dict)

    def add(self, noted: _Noted) -> None:
        """Takes the frames of a connection."""
        codes = {command.opaque: command.code for command in map(decode, _split(noted.sent))}
        for data in _split(noted.received):
            command = decode(data)
            code = codes[command.opaque] if command.is_response else command.code
            self.kept.setdefault((code, command.is_response, command.code), data)

    def write(self, file: Path) -> None:
        """Writes them as `tests/golden/frames` has them."""
        index, contents = [], {}
        for (code, is_response, answer), data in sorted(self.kept.items()):
            name = f"{self.release}/{code:03d}_{f'response_{answer}' if is_response else 'request'}.bin"
            contents[name] = data
            index.append(_told(name, code, decode(data)))
        contents["index.json"] = json.dumps(index).encode()
        with tarfile.open(file, "w:gz") as archive:
            for name, data in contents.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


def _split(stream: bytearray) -> Iterator[bytes]:
    begin = 0
    while begin + 4 <= len(stream):
        end = begin + 4 + int.from_bytes(stream[begin : begin + 4], "big")
        if end > len(stream):
            return
        yield bytes(stream[begin:end])
        begin = end


def _told(name: str, code: int, command: RemotingCommand) -> dict[str, object]:
    header = {"code": command.code, "opaque": command.opaque, "version": command.version, "remark": command.remark}
    return {
        "file": name,
        "request_code": code,
        "kind": "response" if command.is_response else "request",
        "serialize": command.serialize_type.name,
        "header": {**header, "extFields": command.ext_fields},
        "body_bytes": len(command.body),
    }


def record(release: str, target: Path) -> None:
    """Writes the recording of a release into a directory, in place of what is there.

    Raises:
        UnavailableError, NotUpError: as `up`.
    """
    work, frames = Round("recorded", is_v5(release), has_light=True), _Frames(release)
    cache().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache()) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        for killed in (False, True):
            _run(release, Path(scratch), work, frames, killed=killed)
            kept = "killed" if killed else "tidy"
            ran(
                [*_PACK, str(made / f"store-{kept}.tar.gz"), f"store-{_WHO}"],
                "pack a store",
                log=Path(scratch) / "tar.log",
                seconds=_TAR_S,
                directory=Path(scratch),
            )
        frames.write(made / "frames.tar.gz")
        (made / "truth.json").write_text(_truth(work))
        artifacts = {
            jar.name: hashlib.sha1(jar.read_bytes()).hexdigest() for jar in sorted(jars(release).glob("rocketmq-*.jar"))
        }
        about = {"release": release, "date": datetime.now(UTC).date().isoformat(), "sha1": artifacts}
        (made / "made.json").write_text(json.dumps(about, indent=1) + "\n")
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, target)


def _run(release: str, place: Path, work: Round, frames: _Frames, *, killed: bool) -> None:
    cluster = up(Plan(release=release, settings={**SETTINGS, **LIGHT}), place)
    try:
        broker = cluster.member(_WHO)
        with work.peer(broker.address) as peer:
            noted = _Noted(peer)
            if killed:
                work.is_kept(peer)
                for number in range(_BURST):
                    peer.post(send("burst", queues=1), f"{number}".encode())
                peer.call(send("burst", queues=1), b"last")
                process = broker.process()
                assert process is not None
                process.kill()
            else:
                work.work(peer)
                offsets = cluster.store(_WHO) / "config" / "lmqConsumerOffset.json"
                wait(partial(_holds, offsets, work.group), [broker], "offsets are written", _WRITTEN_S)
            frames.add(noted)
    finally:
        cluster.down()


def _holds(file: Path, text: str) -> bool:
    return file.exists() and text in file.read_text(errors="replace")


def _truth(work: Round) -> str:
    sent = [
        {"queue_id": queue_id, "offset": offset, "body": body.decode(), "unique_key": key}
        for (queue_id, offset), (body, key) in sorted(work.sent.items())
    ]
    truth = {
        "topic": work.topic("plain"),
        "group": work.group,
        "sent": sent,
        "offsets": work.offsets,
        "light_queue": work.light_queue,
        "light": [body.decode() for body in work.light],
    }
    return msgspec.json.format(json.dumps(truth), indent=1) + "\n"
