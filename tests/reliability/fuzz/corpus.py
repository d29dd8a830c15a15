"""What mutation starts from: recorded frames and their bodies, recorded stores, dumps, and made files of every kind."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from mqctl.protocol.frame import FrameError, RemotingCommand, decode
from tests.conftest import FULL_GOLDEN, GOLDEN

_PIECE_BYTES = 4_096
_LARGEST_SEED_BYTES = 16_384


@cache
def frames() -> tuple[bytes, ...]:
    """Every recorded frame that is not too large to mutate often; those of the full recordings, too, when present."""
    frames_read: list[bytes] = []
    with tarfile.open(GOLDEN / "frames" / "frames.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".bin") else None
            if file is not None:
                frames_read.append(file.read())
    for path in sorted(FULL_GOLDEN.rglob("frames*/**/*.bin")) if FULL_GOLDEN.is_dir() else ():
        frames_read.append(path.read_bytes())
    return tuple(dict.fromkeys(data for data in frames_read if len(data) <= _LARGEST_SEED_BYTES))


@cache
def commands() -> tuple[RemotingCommand, ...]:
    """The recorded frames, decoded; probes of broken frames are left out."""
    commands_read = []
    for data in frames():
        try:
            commands_read.append(decode(data))
        except FrameError:
            continue
    return tuple(commands_read)


@cache
def bodies() -> tuple[bytes, ...]:
    """Every recorded body."""
    return tuple(dict.fromkeys(command.body for command in commands() if command.body))


def json_texts() -> tuple[bytes, ...]:
    """Recorded bodies and configuration files in fastjson's dialect, and the forms that recordings lack."""
    more = (
        b'{{"brokerName":"b","queueId":0,"topic":"T"}:5}', b"{'a':'it\\'s',b:[1,2,],/* x */d:NaN,// y\n}",
        b'{"a":{"$ref":"$.b"},"b":{"$ref":"$.c[0].s"},"c":[{"s":1}]}', b"{-1:9223372036854775807,c:.5,d:12L}",
        b"[" * 300 + b"]" * 300, b'{"a":"\\ud83d\\ude00\\u0000"}', b'{"x":{"$ref":".."},"y":{"$ref":"@"}}',
    )  # fmt: skip
    return (*(body for body in bodies() if body[:1] in b"{["), *config_files().values(), *more)


@cache
def store_files(name: str) -> dict[str, bytes]:
    """Returns the files of a recorded store by their path below its root."""
    files: dict[str, bytes] = {}
    with tarfile.open(GOLDEN / "stores" / f"{name}.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                files[member.name.partition("/")[2]] = file.read()
    return files


@cache
def config_files() -> dict[str, bytes]:
    """Recorded configuration files by name."""
    files: dict[str, bytes] = {}
    for store in ("store-clean", "store-5.3.3"):
        for path, data in store_files(store).items():
            if path.startswith("config/") and path.endswith(".json"):
                files[f"{store} {path}"] = data
    return files


def recorded_pieces(prefix: str) -> tuple[bytes, ...]:
    """The first bytes of every recorded store file whose path begins with `prefix`."""
    pieces = []
    for store in ("store-clean", "store-killed", "store-5.3.3"):
        pieces += [data[:_PIECE_BYTES] for path, data in store_files(store).items() if path.startswith(prefix)]
    return tuple(dict.fromkeys(piece for piece in pieces if piece.strip(b"\0")))[:20]


def dumps() -> tuple[bytes, ...]:
    """Recorded thread dumps of every format, cut to what can be mutated often."""
    paths: list[Path] = sorted((GOLDEN / "dumps").iterdir())
    return tuple(path.read_bytes()[: 2 * _LARGEST_SEED_BYTES] for path in paths if path.name != "README.md")
