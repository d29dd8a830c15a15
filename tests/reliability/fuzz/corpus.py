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
    found: list[bytes] = []
    with tarfile.open(GOLDEN / "frames" / "frames.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".bin") else None
            if file is not None:
                found.append(file.read())
    for path in sorted(FULL_GOLDEN.rglob("frames*/**/*.bin")) if FULL_GOLDEN.is_dir() else ():
        found.append(path.read_bytes())
    return tuple(dict.fromkeys(data for data in found if len(data) <= _LARGEST_SEED_BYTES))


@cache
def commands() -> tuple[RemotingCommand, ...]:
    """The recorded frames, decoded; probes of broken frames are left out."""
    found = []
    for data in frames():
        try:
            found.append(decode(data))
        except FrameError:
            continue
    return tuple(found)


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
    found: dict[str, bytes] = {}
    with tarfile.open(GOLDEN / "stores" / f"{name}.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                found[member.name.partition("/")[2]] = file.read()
    return found


@cache
def config_files() -> dict[str, bytes]:
    """Recorded configuration files by name."""
    found: dict[str, bytes] = {}
    for store in ("store-clean", "store-5.3.3"):
        for path, data in store_files(store).items():
            if path.startswith("config/") and path.endswith(".json"):
                found[f"{store} {path}"] = data
    return found


def recorded_pieces(prefix: str) -> tuple[bytes, ...]:
    """The first bytes of every recorded store file whose path begins with `prefix`."""
    found = []
    for store in ("store-clean", "store-killed", "store-5.3.3"):
        found += [data[:_PIECE_BYTES] for path, data in store_files(store).items() if path.startswith(prefix)]
    return tuple(dict.fromkeys(piece for piece in found if piece.strip(b"\0")))[:20]


def dumps() -> tuple[bytes, ...]:
    """Recorded thread dumps of every format, cut to what can be mutated often."""
    paths: list[Path] = sorted((GOLDEN / "dumps").iterdir())
    return tuple(path.read_bytes()[: 2 * _LARGEST_SEED_BYTES] for path in paths if path.name != "README.md")
