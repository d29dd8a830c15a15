"""The files of docs/examples: read by what they are for, and held to the commands and metrics they name."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from mqctl.commands.check.checks_file import load_expectations
from mqctl.commands.export.metrics import families
from mqctl.errors import ConfigurationError
from mqctl.main import load_command
from mqctl.model.expectation import Limit
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from tests.conftest import REPOSITORY
from tests.each import each

EXAMPLES = REPOSITORY / "docs" / "examples"
UNITS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".service", ".timer"})


def unit(name: str) -> configparser.ConfigParser:
    # systemd allows a key again; what matters here are the sections and single keys.
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((EXAMPLES / name).read_text())
    return parser


def mqctl_lines(text: str) -> list[list[str]]:
    """Returns the command lines of mqctl in a shell line, without redirections."""
    lines = []
    for part in re.split(r";|&&|\|\|? ", text):
        words = shlex.split(part.split(" > ")[0], posix=True)
        if words[:1] == ["mqctl"]:
            lines.append(words[1:])
    return lines


def parse(words: list[str]) -> None:
    path = tuple(words[:2]) if words[0] == "export" else (words[0],)
    load_command(path).make_context("mqctl", words[len(path) :])


def test_the_checks_are_ones_that_mqctl_reads_and_the_guide_shows_them() -> None:
    wishes = load_expectations(EXAMPLES / "checks.yaml")
    assert [group.group for group in wishes.groups] == ["order-service"]
    guide = (REPOSITORY / "docs" / "monitoring.md").read_text()
    shown = guide.partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(shown) == yaml.safe_load((EXAMPLES / "checks.yaml").read_text())


def test_the_workflow_runs_commands_that_exist() -> None:
    workflow: dict[Any, Any] = yaml.safe_load((EXAMPLES / "github-workflow.yml").read_text())
    assert {"workflow_dispatch", "schedule"} <= workflow[True].keys()  # YAML 1.1 reads `on` so
    steps = workflow["jobs"]["check"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    lines = [words for step in steps for line in step.get("run", "").splitlines() for words in mqctl_lines(line)]
    assert [words[0] for words in lines] == ["check", "doctor"]
    assert (REPOSITORY / lines[0][1]).exists()
    for words in lines:
        parse(words)


@each("name", UNITS)
def test_units(name: str) -> None:
    problems = unit(name)
    assert problems["Unit"]["Description"]
    if name.endswith(".timer"):
        assert problems["Timer"]["OnUnitInactiveSec"]
        assert Path(name).with_suffix(".service").name in UNITS
        return
    start = problems["Service"]["ExecStart"]
    line = shlex.split(start)[2].replace("$$", "$") if start.startswith("/bin/sh -c") else start
    lines = mqctl_lines(line)
    assert lines
    for words in lines:
        parse(words)


def test_alerts_name_metrics_that_exist() -> None:
    rules = yaml.safe_load((EXAMPLES / "prometheus-rules.yml").read_text())["groups"][0]["rules"]
    origin = Origin(kind=OriginKind.LIVE, location="", observed_at_ms=0, observed_from=ObservedFrom.CLOCK)
    known = {"mqctl_up"} | {family.name for family in families(ClusterSnapshot(origin=origin))}
    named = {name for rule in rules for name in re.findall(r"mqctl_\w+", rule["expr"])}
    assert named <= known
    guide = (REPOSITORY / "docs" / "monitoring.md").read_text()
    assert all(f"`{name}`" in guide for name in known)


@each("limit, warning, error", [
    ("7", None, 7), ("{error: 7}", None, 7), ("{critical: 7}", None, 7), ("{warning: 3, error: 7}", 3, 7),
    ("{warning: 3, critical: 7}", 3, 7), ("{warning: 3}", 3, None), ("{}", None, None),
])  # fmt: skip
def test_a_limit_is_an_error_by_either_name(
    tmp_path_factory: pytest.TempPathFactory, limit: str, warning: float | None, error: float | None
) -> None:
    file = tmp_path_factory.mktemp("checks") / "checks.yaml"
    file.write_text(f"groups:\n  G: {{lag: {limit}}}\n")
    (group,) = load_expectations(file).groups
    assert group.lag_count == Limit(warning, error)


def test_a_limit_with_both_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checks.yaml").write_text("groups:\n  G: {lag: {error: 7, critical: 7}}\n")
    with pytest.raises(ConfigurationError, match="error and critical"):
        load_expectations(tmp_path / "checks.yaml")
