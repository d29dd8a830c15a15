"""RocketMQ's released artifacts: Maven brings them into a cache, one directory of jars for each release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from filelock import FileLock, Timeout

from tests.cached import UnavailableError, cache, ran

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


def is_v5(release: str) -> bool:
    """Whether a release is of the 5.x line, which has a proxy and controllers."""
    return not release.startswith("4.")


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


def copied(pom: Path, target: Path, what: str, log: Path) -> None:
    """Has Maven copy what a pom depends on into a directory.

    Raises:
        UnavailableError: Maven is missing, failed or took longer than 15 minutes.
    """
    words = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), _PLUGIN, f"-DoutputDirectory={target}"]
    words.append("-DincludeScope=runtime")
    ran(words, f"fetch {what}", log=log, seconds=_FETCH_S, reason=_reason)


def _fetch(release: str, directory: Path, why: str) -> None:
    part, pom, log = (cache() / f"{release}.{kind}" for kind in ("part", "pom.xml", "maven.log"))
    shutil.rmtree(part, ignore_errors=True)
    parts = (*_PARTS, *(_PARTS_OF_5 if is_v5(release) else ()))
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(f"rocketmq-{name}", release) for name in parts)))
    copied(pom, part, f"RocketMQ {release} ({why})", log)
    sizes = {file.name: file.stat().st_size for file in sorted(part.glob("*.jar"))}
    lacking = [name for name in parts if f"rocketmq-{name}-{release}.jar" not in sizes]
    if lacking:
        raise UnavailableError(f"mvn fetched RocketMQ {release} without rocketmq-{lacking[0]}; log: {log}")
    (part / _LIST).write_text(json.dumps(sizes, indent=1))
    shutil.rmtree(directory, ignore_errors=True)
    part.rename(directory)
