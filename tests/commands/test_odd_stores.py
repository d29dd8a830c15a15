"""Stores with what does not belong into one: pipes, links that go in circles, absurd names, files of a terabyte.

Each command names it or passes over it, within seconds, and judges the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]
COMMANDS = (("store", "verify"), ("doctor",), ("report", "order", "--no-spark"))
_LOG = "commitlog/00000000000000000000"


def _names(store: Path) -> None:
    (store / "commitlog" / ("9" * 20)).touch()
    (store / "commitlog" / f"{(1 << 63) - 1:020}").write_bytes(b"x")
    for name in ("a\nb\x1b[31m", "9" * 200, os.fsdecode(b"\xff\xfe")):
        for queue in ("0", "9" * 20, "-1", " 1"):
            (store / "consumequeue" / name / queue).mkdir(parents=True)


def _circles(store: Path) -> None:
    (store / "consumequeue" / "self").symlink_to("..")
    (store / "consumequeue" / "round").symlink_to("round")
    (store / "commitlog" / "me").symlink_to(".")


def _terabyte(store: Path) -> None:
    with (store / "commitlog" / f"{1 << 40:020}").open("wb") as file:
        file.truncate(1 << 40)


def _log_in_circles(store: Path) -> None:
    (store / _LOG).unlink()
    (store / _LOG).symlink_to((store / _LOG).name)


def _log_is_a_pipe(store: Path) -> None:
    (store / _LOG).unlink()
    os.mkfifo(store / _LOG)


# What is put into the store, how the check of it may end, and what it says of it.
ODD: dict[str, tuple[Callable[[Path], None], set[int], str]] = {
    "absurd names": (_names, {0, 1, 2}, "records"),
    "circles": (_circles, {0, 1, 2}, "records"),
    "a terabyte": (_terabyte, {2}, "wrong_file_size"),
    "the log is a circle": (_log_in_circles, {2}, "it is a link that leads to itself"),
    "the log is a pipe": (_log_is_a_pipe, {2}, "it is a named pipe"),
}


@pytest.mark.parametrize(
    "name",
    # What becomes of a log that is none is crossed with every command in test_odd_files.py.
    [pytest.param(name, marks=pytest.mark.long) if name.startswith("the log") else name for name in ODD],
)
def test_what_does_not_belong_into_a_store_is_named_or_passed_over(
    name: str, mqctl: Run, store_copy: Callable[[str], Path]
) -> None:
    store = store_copy("store-clean")
    spoil, codes, says = ODD[name]
    spoil(store)
    for words in COMMANDS:
        outcome = mqctl(*words, "--store", store)
        said = outcome.stdout + outcome.stderr
        assert outcome.exit_code in {0, 1, 2, 3, 74}, (words, said[-1_000:])
        assert "\x1b" not in said, words
        if words == ("store", "verify"):
            assert (outcome.exit_code in codes, says in said) == (True, True), said[-2_000:]


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("s3://bucket/a/store", "mqctl store verify"),
        ("hdfs://nn:8020/store", "mqctl report"),
        ("file:///data/s", "/data/s"),
    ],
)
@pytest.mark.parametrize("words", [("doctor",), ("group", "lag"), ("snapshot", "save", "a.snap")])
def test_a_url_is_refused_as_such_by_what_reads_directories(
    mqctl: Run, words: tuple[str, ...], url: str, remedy: str
) -> None:
    outcome = mqctl(*words, "--store", url)
    assert outcome.exit_code == 64
    assert f"could not open the store {url}: this command reads directories, no URLs" in outcome.stderr
    assert remedy in outcome.stderr
