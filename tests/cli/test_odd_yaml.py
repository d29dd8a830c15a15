"""YAML that PyYAML itself stumbles over is a named error in every file that people write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

# Nine lines that stand for 43 million values.
BOMB = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
ODD = (
    "- 2026-99-99\n",
    "a: !!bool x\n",
    "a: !!int ''\n",
    "a: !!timestamp x\n",
    "a: 0001-01-01T00:00:00+23:59\n",
    "[" * 400,
    "a: &a [*a]\n",
    BOMB,
)


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:12].strip())
def test_odd_yaml_is_no_bug_of_mqctl(tmp_path: Path, text: str) -> None:
    from mqctl.cli.checks_file import load_expectations
    from mqctl.cli.known_states import load_known
    from mqctl.cli.profiles import load_profiles
    from mqctl.cli.stack_files import classifier_of
    from mqctl.errors import MqctlError
    from mqctl.local.scenario_files import read_scenario
    from mqctl.playbook.reading import read_playbook

    file = tmp_path / "profiles.yaml"
    file.write_text(text)
    readers: tuple[Callable[[Path], object], ...] = (
        load_expectations, load_known, classifier_of, lambda path: load_profiles(path.parent),
        lambda path: read_scenario("x", path.read_bytes(), str(path)), lambda path: read_playbook("x", path),
    )  # fmt: skip
    for reader in readers:
        with pytest.raises(MqctlError):
            reader(file)


def test_odd_yaml_through_the_command_line(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "profiles.yaml").write_text(ODD[0])
    outcome = mqctl("profile", "list", env={"MQCTL_CONFIG_DIR": str(tmp_path)})
    assert (outcome.exit_code, "profiles.yaml" in outcome.stderr) == (78, True), outcome
