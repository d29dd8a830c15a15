"""RocketMQ's released artifacts: Maven brings them into a cache, one directory of jars for each release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

RELEASES = ("4.9.7", "5.3.3", "5.4.0", "5.5.0")
_PARTS = ("namesrv", "broker", "tools", "client")
_PARTS_OF_5 = ("proxy", "controller")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_LIST = "jars.json"
_FETCH_S = 900
_DEPENDENCY = (
    "<dependency><groupId>org.apache.rocketmq</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqctl.tests</groupId><artifactId>released</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>
"""


class UnavailableError(Exception):
    """Something that a real cluster needs is missing on this machine."""


def is_v5(release: str) -> bool:
    """Whether a release is of the 5.x line, which has a proxy and controllers."""
    return not release.startswith("4.")


def cache() -> Path:
    """Returns the directory of all artifacts; `MQCTL_REAL_CACHE` moves it."""
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


def jars(release: str) -> Path:
    """Returns the directory with all jars of a release; a release that the cache lacks is fetched.

    Raises:
        UnavailableError: the cache lacks jars, and Maven is missing, failed or took longer than 15 minutes.
    """
    directory = cache() / release
    if not damage(directory):
        return directory
    cache().mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(cache() / f"{release}.lock", timeout=_FETCH_S):
            reason = damage(directory)
            if reason:
                _fetch(release, directory, reason)
    except Timeout:
        raise UnavailableError(f"another process has been fetching RocketMQ {release} for {_FETCH_S} s") from None
    return directory


def damage(directory: Path) -> str | None:
    """Returns what is wrong with the cached jars of a release; None when all are there in full."""
    try:
        sizes: dict[str, int] = json.loads((directory / _LIST).read_text())
    except FileNotFoundError:
        return f"{directory} has no finished download"
    except ValueError:
        return f"{directory / _LIST} is not readable"
    bad = [name for name, size in sizes.items() if _size(directory / name) != size]
    return f"{len(bad)} of {len(sizes)} jars in {directory} are missing or cut ({bad[0]})" if bad else None


def _reason(lines: list[str]) -> str:
    """Returns the line of Maven's log that names the artifact it could not get; hints of how to run it follow that."""
    errors = [line for line in lines if line.startswith("[ERROR] ")]
    return errors[0] if errors else "\n".join(lines[-5:])


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else -1


def _fetch(release: str, directory: Path, why: str) -> None:
    try:
        maven = program("mvn")
    except UnavailableError as error:
        raise UnavailableError(f"RocketMQ {release} cannot be fetched: {error}; {why}") from None
    part, pom, log = (cache() / f"{release}.{kind}" for kind in ("part", "pom.xml", "maven.log"))
    shutil.rmtree(part, ignore_errors=True)
    parts = (*_PARTS, *(_PARTS_OF_5 if is_v5(release) else ()))
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(f"rocketmq-{name}", release) for name in parts)))
    words = [maven, "-q", "-B", "-Dstyle.color=never", "-f", str(pom), _PLUGIN, f"-DoutputDirectory={part}"]
    words.append("-DincludeScope=runtime")
    try:
        with log.open("wb") as output:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=_FETCH_S, check=False
            )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"Maven did not fetch RocketMQ {release} within {_FETCH_S} s; log: {log}") from None
    sizes = {file.name: file.stat().st_size for file in sorted(part.glob("*.jar"))}
    lacking = [name for name in parts if f"rocketmq-{name}-{release}.jar" not in sizes]
    if done.returncode or lacking:
        said = _reason(log.read_text(errors="replace").splitlines())
        reason = f"exit code {done.returncode}" if done.returncode else f"without rocketmq-{lacking[0]}"
        raise UnavailableError(f"Maven could not fetch RocketMQ {release} ({reason}):\n{said}")
    (part / _LIST).write_text(json.dumps(sizes, indent=1))
    shutil.rmtree(directory, ignore_errors=True)
    part.rename(directory)
