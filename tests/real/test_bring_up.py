"""What stands in the way of a real cluster is named; nothing waits for ever and nothing is left running."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from tests.cached import UnavailableError
from tests.real.artifacts import damage, jars
from tests.real.cluster import Plan, load, up
from tests.real.members import NotUpError

pytestmark = pytest.mark.slow
_PUTS_ONE_JAR = """\
for word in "$@"; do
    case $word in -DoutputDirectory=*) to=${word#*=};; esac
done
mkdir -p $to
echo x > $to/rocketmq-namesrv-5.5.0.jar"""
_LACKS_ONE = """\
echo '[ERROR] Failed: Could not find artifact org.apache.rocketmq:rocketmq-tieredstore:jar:5.5.0 in mirror'
for line in 1 2 3 4 5 6; do echo "[ERROR] [Help $line] http://maven.apache.org"; done
exit 1"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with the programs of the system and no Java or Maven, but those that a test writes into it."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "sleep", "echo", "mkdir"):
        (directory / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("MQCTL_REAL_CACHE", str(tmp_path / "cache"))
    return directory


def script(directory: Path, name: str, text: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def cached(tmp_path: Path, **sizes: int) -> Path:
    """A finished download of these jars."""
    directory = tmp_path / "cache" / "5.5.0"
    directory.mkdir(parents=True)
    for name, size in sizes.items():
        (directory / f"{name}.jar").write_bytes(b"x" * size)
    (directory / "jars.json").write_text(json.dumps({f"{name}.jar": size for name, size in sizes.items()}))
    return directory


def test_without_maven_the_reason_is_given(programs: Path) -> None:
    with pytest.raises(
        UnavailableError, match=r"could not fetch RocketMQ 5\.5\.0 \(.*no finished download\): mvn is not installed"
    ):
        jars("5.5.0")


def test_half_a_download_is_fetched_again_or_named(programs: Path, tmp_path: Path) -> None:
    directory = cached(tmp_path, broker=100, client=50)
    assert damage(directory) is None and jars("5.5.0") == directory
    (directory / "broker.jar").write_bytes(b"x" * 99)
    (directory / "client.jar").unlink()
    with pytest.raises(UnavailableError, match=r"2 of 2 jars in .* are missing or cut \(broker\.jar\)"):
        jars("5.5.0")


def test_what_maven_says_is_passed_on(programs: Path) -> None:
    script(programs, "mvn", "echo 'no such version'; exit 1")
    with pytest.raises(UnavailableError, match=r"^mvn could not fetch .* \(exit code 1\):\nno such version"):
        jars("9.9.9")


def test_an_artifact_that_a_mirror_lacks_is_named(programs: Path) -> None:
    script(programs, "mvn", _LACKS_ONE)
    with pytest.raises(UnavailableError, match=r"^mvn could not .*:\n.*rocketmq-tieredstore:jar:5\.5\.0 in mirror$"):
        jars("5.5.0")


def test_a_download_without_the_broker_does_not_count(programs: Path, tmp_path: Path) -> None:
    script(programs, "mvn", _PUTS_ONE_JAR)
    with pytest.raises(UnavailableError, match="without rocketmq-broker"):
        jars("5.5.0")
    assert damage(tmp_path / "cache" / "5.5.0") is not None


def test_without_java_the_reason_is_given(programs: Path, tmp_path: Path) -> None:
    cached(tmp_path)
    with pytest.raises(UnavailableError, match="java is not installed"):
        up(Plan(release="5.5.0"), tmp_path / "up")


def test_a_process_that_ends_is_named_with_what_it_printed(programs: Path, tmp_path: Path) -> None:
    cached(tmp_path)
    script(programs, "java", "echo 'cannot bind'; exit 3")
    with pytest.raises(NotUpError, match=r"(?s)namesrv ended by itself before namesrv listens on .*cannot bind"):
        up(Plan(release="5.5.0"), tmp_path / "up")


def test_a_process_that_does_nothing_is_given_up_and_ended(programs: Path, tmp_path: Path) -> None:
    cached(tmp_path)
    script(programs, "java", "echo starting; exec sleep 600")
    with pytest.raises(NotUpError, match=r"(?s)waited 1 s in vain until namesrv listens on .*starting"):
        up(Plan(release="5.5.0"), tmp_path / "up", seconds=1)
    (member,) = load(tmp_path / "up").members
    assert member.process() is None and not psutil.pid_exists(member.pid)


@pytest.mark.parametrize(
    "parts", [{"release": "4.9.7", "proxy": True}, {"release": "5.5.0", "slave": True, "controller": True}]
)
def test_parts_that_a_release_has_not_or_that_exclude_each_other_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"neither proxy|choose one"):
        Plan(**parts)  # type: ignore[arg-type]
