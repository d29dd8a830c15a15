"""Configuration files of a store that cannot be read here: named as not read, and the rest is judged all the same."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mqctl.store.plain_files import LARGEST_BYTES
from tests.conftest import REPOSITORY, Outcome

Spoil = Callable[[Path], None]
_ADDRESS_SPACE_BYTES = 3 << 30
_MOST_S = 60


def _endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _huge(file: Path) -> None:
    file.touch()
    os.truncate(file, LARGEST_BYTES + 1)


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _directory(file: Path) -> None:
    file.mkdir()


def _closed(file: Path) -> None:
    file.touch(0o000)


_WAYS: Mapping[str, tuple[Spoil, str]] = {
    "endless": (_endless, "it is not a regular file"),
    "huge": (_huge, "it is larger than 256 MiB"),
    "pipe": (_pipe, "it is not a regular file"),
    "directory": (_directory, "Is a directory"),
    "closed": (_closed, "permission denied"),
}


def run(*words: object) -> Outcome:
    """Runs mqctl without root's right to read everything, and with less memory than the files would take."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and setpriv is not installed")
    powerless = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*powerless, sys.executable, "-m", "mqctl", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
        timeout=_MOST_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES)),
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@cache
def _summary(store: Path) -> Any:
    return json.loads(run("store", "verify", "--store", store, "-o", "json").stdout)["summary"]


@pytest.mark.parametrize("way", _WAYS)
def test_verify_names_the_file_and_judges_the_rest(
    store_copy: Callable[[str], Path], golden_store: Callable[[str], Path], way: str
) -> None:
    whole = _summary(golden_store("store-clean"))
    store = store_copy("store-clean")
    file = store / "config" / "topics.json"
    file.unlink()
    spoil, reason = _WAYS[way]
    spoil(file)
    verified = run("store", "verify", "--store", store, "-o", "json")
    assert (verified.exit_code, verified.stderr) == (3, "")
    report = json.loads(verified.stdout)
    assert report["summary"] == whole
    [unread] = report["not_read"]
    assert unread["part"] == "config/topics.json"
    assert f"could not read {file}: {reason}; " in unread["reason"]


@pytest.mark.parametrize(
    "way", ["endless", "huge", "closed", *(pytest.param(way, marks=pytest.mark.long) for way in ("pipe", "directory"))]
)
def test_what_rests_on_the_file_is_unknown_and_the_rest_is_judged(
    store_copy: Callable[[str], Path], tmp_path: Path, way: str
) -> None:
    store = store_copy("store-clean")
    file = store / "config" / "consumerOffset.json"
    file.unlink()
    spoil, reason = _WAYS[way]
    spoil(file)
    described = run("store", "describe", "--store", store)
    assert (described.exit_code, described.stderr) == (0, "")
    assert f"consumerOffset.json: could not be read: {reason}" in described.stdout
    assert "configured, ? with offsets" in described.stdout
    judged = run("doctor", "--store", store, "--quick", "-o", "json")
    assert (judged.exit_code, judged.stderr) in {(2, ""), (3, "")}
    assert reason in judged.stdout
    assert '"MQ106"' in judged.stdout
    assert run("snapshot", "save", "--store", store, tmp_path / "s.gz").exit_code == 0


def test_a_directory_that_one_may_not_look_into(store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-clean")
    (store / "config").chmod(0o000)
    verified = run("store", "verify", "--store", store, "-o", "json")
    assert (verified.exit_code, verified.stderr) == (3, "")
    report = json.loads(verified.stdout)
    assert report["summary"]["record_count"] > 0
    assert {"config/topics.json", "config/delayOffset.json"} <= {item["part"] for item in report["not_read"]}
    described = run("store", "describe", "--store", store)
    assert (described.exit_code, described.stderr) == (0, "")
    assert "consumer groups  ? configured, ? with offsets" in described.stdout
    judged = run("doctor", "--store", store)
    assert (judged.exit_code, judged.stderr) in {(2, ""), (3, "")}
    assert "config/topics.json could not be read: permission denied; run as the broker's user" in judged.stdout
    assert "config/consumerOrderInfo.json could not be read: permission denied" in judged.stdout
    (store / "config").chmod(0o700)


def test_a_store_that_is_closed_altogether_is_named(store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-clean")
    store.chmod(0o400)
    for words in (("store", "verify"), ("store", "describe"), ("doctor",)):
        refused = run(*words, "--store", store)
        assert refused.exit_code == 77
        assert f"could not read {store}" in refused.stderr
        assert "next: run as the broker's user" in refused.stderr
    store.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "words", "code"),
    [
        ("index/20991120232733000", ("store", "verify"), 2),
        ("config/timercheck", ("store", "verify"), 3),
        ("checkpoint", ("store", "verify"), 2),
        ("lock", ("delay", "repair"), 0),
    ],
)
def test_no_pipe_in_a_store_is_waited_for(
    store_copy: Callable[[str], Path], name: str, words: tuple[str, ...], code: int
) -> None:
    store = store_copy("store-clean")
    (store / name).unlink(missing_ok=True)
    os.mkfifo(store / name)
    outcome = run(*words, "--store", store)
    assert outcome.exit_code == code, outcome
    assert ("it is not a regular file" in outcome.stdout + outcome.stderr) == (code > 0), outcome


def test_a_link_to_a_regular_file_is_fine(store_copy: Callable[[str], Path], tmp_path: Path) -> None:
    store = store_copy("store-clean")
    file = store / "config" / "topics.json"
    shutil.move(file, tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert run("store", "verify", "--store", store).exit_code == 0
