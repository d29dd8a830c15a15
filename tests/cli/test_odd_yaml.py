"""YAML that PyYAML itself stumbles over is a named error in every file that people write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.protocol.yaml_text import UnreadableYaml, check_text, decode_yaml
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
    from mqctl.cli.connection.profiles import load_profiles
    from mqctl.commands.check.checks_file import load_expectations
    from mqctl.commands.doctor.known_states import load_known
    from mqctl.commands.stacks.files import classifier_of
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


# Just beyond mqctl's own limit, and far beyond libyaml's, which reads ahead of what it yields.
DEEP = {
    "brackets": "[" * 70 + "]" * 70,
    "many brackets": "[" * 5_000,
    "braces": "{a: " * 5_000,
    "dashes": "- " * 5_000,
    "question marks": "? " * 5_000,
    "lines": "\n".join(" " * level + "a:" for level in range(1_100)),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=list(DEEP))
def test_what_is_nested_too_deeply_is_called_so_whatever_limit_it_meets(text: str) -> None:
    from mqctl.playbook.yaml_places import YamlProblem, read_yaml

    with pytest.raises(UnreadableYaml, match="nested too deeply"):
        decode_yaml(text, object)
    with pytest.raises(YamlProblem, match="nested too deeply"):
        read_yaml(text)
    with pytest.raises(YamlProblem, match="nested too deeply"):
        read_yaml("a: &a [*a]\n")


def test_odd_yaml_through_the_command_line(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "profiles.yaml").write_text(ODD[0])
    outcome = mqctl("profile", "show", env={"MQCTL_CONFIG_DIR": str(tmp_path)})
    assert (outcome.exit_code, "profiles.yaml" in outcome.stderr) == (78, True), outcome


TWICE = "groups:\n  g1: {lag: 1}\n  g2: {lag: 1}\n  'g1': {lag: 100}\n"


def test_a_key_twice_is_refused_with_both_lines(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    """YAML's parsers drop the first one: an expectation that nobody checks."""
    file = tmp_path / "check.yaml"
    file.write_text(TWICE)
    checked = mqctl("check", file, "--namesrv", "127.0.0.1:1")
    assert (checked.exit_code, "g1 stands there twice, in lines 2 and 4" in checked.stderr) == (78, True), checked
    (tmp_path / "profiles.yaml").write_text("profiles:\n  p: {namesrv: 'a:1'}\n  p: {namesrv: 'b:1'}\n")
    listed = mqctl("profile", "show", env={"MQCTL_CONFIG_DIR": str(tmp_path)})
    assert (listed.exit_code, "p stands there twice, in lines 2 and 3" in listed.stderr) == (78, True), listed


@pytest.mark.parametrize(
    "text",
    ["a: {x: 1}\nb: {x: 1}\n", "- x: 1\n- x: 1\n", "? {x: 1}\n: x\n? {y: 1}\n: x\n", "a: a\nb: a\n", "a: [a, a]\n"],
)
def test_the_same_word_in_other_places_is_no_key_twice(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", ["- {a: 1, a: 1}\n", "x: {? &k a : 1, ? *k : 2}\n", "a: {b: [1, {c: 1}], b: 2}\n"])
def test_a_key_twice_is_found_in_any_depth(text: str) -> None:
    with pytest.raises(UnreadableYaml, match="stands there twice"):
        check_text(text)
    check_text(text, last_counts=True)


def test_an_endless_file_is_named(mqctl: Callable[..., Outcome]) -> None:
    refused = mqctl("check", "/dev/zero", "--namesrv", "127.0.0.1:1")
    assert (refused.exit_code, "it is larger than 256 MiB" in refused.stderr) == (74, True), refused
