"""A run that is forked is a run as `python -m mqctl` is: its output, its end, its environment, many at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("group", "lag", "--help"),
        ("group", "lag", "--namesrv", "127.0.0.1:1"),
        ("group", "lag", "--namesrv", "127.0.0.1:1", "-o", "json"),
        ("nonsense",),
        ("store", "verify", "--store", "/nonexistent"),
    ],
    ids=" ".join,
)
def test_it_says_and_ends_as_a_whole_process(whole_mqctl: Run, mqctl: Run, words: tuple[str, ...]) -> None:
    assert mqctl(*words) == whole_mqctl(*words)


def test_each_has_an_environment_of_its_own_and_many_run_at_once(mqctl: Run, tmp_path: Path) -> None:
    def added(number: int) -> Outcome:
        return mqctl("profile", "add", "p", "-n", f"127.0.0.1:{number}", env={"MQCTL_CONFIG_DIR": places[number]})

    places = {number: str(tmp_path / str(number)) for number in range(1, 9)}
    with ThreadPoolExecutor(8) as pool:
        assert {outcome.exit_code for outcome in pool.map(added, places)} == {0}
    for number, place in places.items():
        assert f"127.0.0.1:{number}" in (Path(place) / "profiles.yaml").read_text()
    assert "MQCTL_CONFIG_DIR" not in os.environ
