"""What tests fetch or build once for all checkouts: a folder outside them, and what stands in the way, by its name."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

_DONE = ".done"
_KEPT = 3
"""Builds of one program that stay: those of other checkouts, beside the newest."""


class UnavailableError(Exception):
    """Something that a test needs is missing on this machine, or could not be made on it."""


def cache() -> Path:
    """Returns the directory of all that is fetched and built; `MQCTL_REAL_CACHE` moves it."""
    chosen = os.environ.get("MQCTL_REAL_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("mqctl-real")


def program(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Returns the path of a program.

    Raises:
        UnavailableError: it is not installed.
    """
    path = shutil.which(name, path=environment.get("PATH", ""))
    if path is None:
        raise UnavailableError(f"{name} is not installed")
    return path


def ran(
    words: Sequence[str],
    what: str,
    *,
    log: Path,
    seconds: float,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    reason: Callable[[list[str]], str] = lambda lines: "\n".join(lines[-5:]),
) -> None:
    """Runs a tool that fetches or builds; its output goes to a file.

    Args:
        what: it is to do, as in "mvn could not WHAT".
        environment: what differs from this process's.
        reason: picks from the lines of the output those that say why it failed.

    Raises:
        UnavailableError: it is not installed, failed, or took longer than `seconds`; then it was ended.
    """
    tool = Path(words[0]).name
    try:
        command = [program(words[0]), *words[1:]]
    except UnavailableError as error:
        raise UnavailableError(f"could not {what}: {error}") from None
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # so that what it started ends with it
        )
        try:
            code = process.wait(seconds)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise UnavailableError(f"{tool} did not {what} within {seconds:.0f} s; log: {log}") from None
            raise
    if code:
        said = reason(log.read_text(errors="replace").splitlines())
        raise UnavailableError(f"{tool} could not {what} (exit code {code}):\n{said}")


def made(
    name: str, sources: Mapping[str, Path], make: Callable[[Path], None], *, seconds: float, versions: str = ""
) -> Path:
    """Returns the directory in which something was made from sources, made now unless these sources were made before.

    Args:
        name: of what is made; the directory is this and a hash of sources and versions.
        sources: files by the names that they have in the directory.
        make: makes it in the directory that it is given, where the sources are.
        seconds: that another process may take to make it.
        versions: what it depends on besides its sources.

    Raises:
        UnavailableError: `make` did, or another process took too long.
    """
    digest = hashlib.sha256(versions.encode())
    for path, file in sorted(sources.items()):
        digest.update(f"\0{path}\0".encode() + file.read_bytes())
    directory = cache() / "made" / f"{name}-{digest.hexdigest()[:12]}"
    if (directory / _DONE).exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(directory.with_name(f"{name}.lock"), timeout=seconds):
            if not (directory / _DONE).exists():
                _make(directory, sources, make)
                _clear(name, directory)
    except Timeout:
        raise UnavailableError(f"another process has been making {name} for {seconds:.0f} s") from None
    return directory


def _make(directory: Path, sources: Mapping[str, Path], make: Callable[[Path], None]) -> None:
    """Makes it in its place, since tools write paths into what they make; only one that is whole has the mark."""
    shutil.rmtree(directory, ignore_errors=True)
    for path, file in sources.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    make(directory)
    (directory / _DONE).touch()


def _clear(name: str, newest: Path) -> None:
    """Keeps the builds that were made last, and none that was left half made."""
    length = len(newest.name)
    others = [path for path in newest.parent.glob(f"{name}-*") if path != newest and len(path.name) == length]
    whole = [path for path in others if (path / _DONE).exists()]
    kept = sorted(whole, key=lambda path: (path / _DONE).stat().st_mtime)[1 - _KEPT :]
    for path in set(others) - set(kept):
        shutil.rmtree(path, ignore_errors=True)
