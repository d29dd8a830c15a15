"""The completion scripts as they are checked in, in the real shells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Outcome
from tests.shells import SHELLS, typed

Run = Callable[..., Outcome]

PROFILES = """
current: prod
profiles:
  prod: {namesrv: "10.0.0.1:9876"}
  staging: {namesrv: "10.0.0.2:9876;10.0.0.3:9876"}
"""


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "profiles.yaml").write_text(PROFILES)
    return {
        "MQCTL_CONFIG_DIR": str(tmp_path / "config"),
        "MQCTL_STATE_DIR": str(tmp_path / "state"),
        "MQCTL_CACHE_DIR": str(tmp_path / "cache"),
    }


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mqctl sna\t sa\t", ["snapshot", "save"]),
        ("mqctl group lag --wat\t", ["group", "lag", "--watch"]),
        ("mqctl group lag -o nd\t", ["group", "lag", "-o", "ndjson"]),
        ("mqctl group lag --output=nd\t", ["group", "lag", "--output=ndjson"]),
        ("mqctl profile use st\t", ["profile", "use", "staging"]),
        ("mqctl group lag --profile pr\t", ["group", "lag", "--profile", "prod"]),
        ("mqctl explain MQ10\t1", ["explain", "MQ101"]),
        ("mqctl store describe --store a-dir\t", ["store", "describe", "--store", "a-directory"]),
    ],
)
def test_a_tab_in_a_real_shell(shell: str, line: str, words: list[str], places: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a-directory").mkdir()
    assert [word.rstrip("/") for word in typed(shell, line, tmp_path, places)] == words


@pytest.mark.parametrize(("shell", "name"), [("bash", "mqctl.bash"), ("zsh", "_mqctl"), ("fish", "mqctl.fish")])
def test_the_printed_script_is_the_one_checked_in(mqctl: Run, shell: str, name: str) -> None:
    assert mqctl("completion", shell).stdout == (REPOSITORY / "completions" / name).read_text()


def test_own_names_have_words_beside_them_and_broken_files_have_none(
    mqctl: Run, places: dict[str, str], tmp_path: Path
) -> None:
    assert mqctl("__complete", "profile", "show", "", env=places).stdout == (
        "prod\t10.0.0.1:9876\nstaging\t10.0.0.2:9876;10.0.0.3:9876\n"
    )
    (tmp_path / "config" / "profiles.yaml").write_text("profiles: [")
    assert mqctl("__complete", "profile", "show", "", env=places).stdout == ""
    assert mqctl("__complete", "commands", "--mqadmin", "consumerC", env=places).stdout.startswith(
        "consumerConnection\t"
    )


def test_local_clusters_are_known_by_name(mqctl: Run, places: dict[str, str]) -> None:
    assert mqctl("__complete", "local", "down", "--name", "", env=places).stdout == ""
    assert mqctl("local", "up", "--name", "trying-tab", env=places).exit_code == 0
    try:
        assert mqctl("__complete", "local", "down", "--name", "", env=places).stdout == "trying-tab\truns\n"
    finally:
        assert mqctl("local", "down", "--name", "trying-tab", env=places).exit_code == 0
