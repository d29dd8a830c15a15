"""All playbooks: every command line parses, scripts run, texts are in two languages, rules find them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatchcase
from itertools import pairwise, product
from pathlib import Path

import pytest

from docs.playbook_scripts import scripts
from mqctl.cli.catalog import BY_PATH
from mqctl.cli.times import parse_span_ms
from mqctl.errors import UsageError
from mqctl.main import load_command
from mqctl.model.finding import Finding, Subject, SubjectKind
from mqctl.model.lang import Lang
from mqctl.model.origin import OriginKind
from mqctl.model.playbook import ParameterType, Playbook
from mqctl.playbook import template
from mqctl.playbook.parameters import bound
from mqctl.playbook.places import load_playbook, slugs
from mqctl.render.findings import playbook_command
from mqctl.rules import RULES, Settings
from mqctl.rules.engine.playbooks import PLAYBOOKS
from tests.conftest import REPOSITORY
from tests.each import each

SLUGS = slugs()
FILES = ("README.md", "README.zh.md", "playbook.yaml", "run.sh")
_VALUES = {
    ParameterType.INTEGER: "3",
    ParameterType.SPAN: "2s",
    ParameterType.PATH: "/backup/store",
    ParameterType.TEXT: "yesterday 10:00",
}
_PLACEHOLDERS = {"N": "1", "PID": "1", "<queues>": "1"}
_SHIM = """\
#!/bin/sh
printf '%s\\037' "$@" >> "$SEEN"
printf '\\036' >> "$SEEN"
exit "${ENDS:-0}"
"""
"""Notes its words, each before a unit separator, and lines, each before a record separator."""


def parses(words: list[str]) -> None:
    """Parses a command line with the parser of its command; nothing runs. Raises what typer raises."""
    path = next((tuple(words[:size]) for size in (3, 2) if tuple(words[:size]) in BY_PATH), tuple(words[:1]))
    assert path in BY_PATH, words
    if words == list(path):  # a mention
        return
    words = [_PLACEHOLDERS.get(word, word) for word in words]
    with load_command(path).make_context(" ".join(path), words[len(path) :]):
        pass
    if path == ("playbook", "run"):
        given = [words[number + 1] for number, word in enumerate(words) if word == "-p"]
        bound(load_playbook(words[2]), given)


def command_lines(text: str) -> list[str]:
    """Returns every command line of mqctl in a Markdown text: indented lines, and spans of code."""
    spans = re.findall(r"`(mqctl [^`]+)`", text)
    return spans + [line.strip() for line in text.splitlines() if line.startswith("    mqctl ")]


def codes(text: str) -> set[str]:
    """Returns the codes in a text; `MQ701 to MQ706` names all between."""
    codes_named = set(re.findall(r"MQ\d{3}", text))
    for first, last in re.findall(r"MQ(\d{3}) ?(?:to|至) ?MQ(\d{3})", text):
        codes_named |= {f"MQ{number}" for number in range(int(first), int(last) + 1)}
    return codes_named


def values(playbook: Playbook) -> dict[str, str]:
    return {item.name: _VALUES.get(item.type, f"some-{item.name}") for item in playbook.parameters}


@each("slug", SLUGS)
def test_a_playbook_is_whole(slug: str) -> None:
    directory = REPOSITORY / "playbooks" / slug
    assert sorted(item.name for item in directory.iterdir()) == sorted(FILES)
    load_playbook(slug)


@each("slug", SLUGS)
def test_what_findings_tell_are_its_parameters(slug: str) -> None:
    required, optional = PLAYBOOKS[slug]
    known = {"group", "topic", "broker", "store"}
    parameters = [item for item in load_playbook(slug).parameters if item.name in known]
    assert {item.name for item in parameters if item.required} == set(required)
    assert {item.name for item in parameters if not item.required} >= set(optional)
    assert all(item.name in known for item in load_playbook(slug).parameters if item.required)


@each("slug, given", product(SLUGS, ["all", "required"]))
def test_every_step_parses(slug: str, given: str) -> None:
    playbook = load_playbook(slug)
    chosen = {item.name for item in playbook.parameters if given == "all" or item.required}
    lines_bound = bound(playbook, [f"{name}={value}" for name, value in values(playbook).items() if name in chosen])
    for step in playbook.steps:
        if step.command is None:
            continue
        parses(template.filled(step.command, lines_bound, unknown=True))
        if step.changes:
            name = template.fill(step.confirm or "", lines_bound, unknown=True)
            parses([*template.filled(step.command, lines_bound, unknown=True), "--execute", "--confirm", name])
        if step.asks:
            parses([*template.filled(step.command, lines_bound, unknown=True), "--execute"])


@each("slug", SLUGS)
def test_every_command_line_in_its_words_parses(slug: str) -> None:
    playbook = load_playbook(slug)
    for lang in Lang:
        texts = [playbook.title[lang], playbook.symptom[lang], *playbook.rollback[lang]]
        for step in playbook.steps:
            texts += [step.about[lang], *(words[lang] for words in (*step.exits.values(), *step.options.values()))]
            texts += [result.means[lang] for result in step.results]
        for text in texts:
            for line in re.findall(r"`mqctl ([^`]+)`", text):
                parses(shlex.split(re.sub(r"\{(\w+)\}", r"\1", line)))
            assert "mqctl" not in re.sub(r"`[^`]*`", "", text), "command lines stand between backticks"


@each("slug, name", product(SLUGS, ["README.md", "README.zh.md"]))
def test_every_command_line_of_its_readme_parses(slug: str, name: str) -> None:
    text = (REPOSITORY / "playbooks" / slug / name).read_text(encoding="utf-8")
    lines = command_lines(text)
    assert f"mqctl playbook run {slug}" in text
    for line in lines:
        for part in re.split(r" (?:&&|\||;) ", line):
            words = shlex.split(part)
            if words[0] == "mqctl":
                parses(words[1:])


@each("slug", SLUGS)
def test_the_readmes_tell_the_same(slug: str) -> None:
    english, chinese = (
        (REPOSITORY / "playbooks" / slug / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")
    )
    assert [line for line in english.splitlines() if line.startswith("## ")] == [
        *("## Symptom", "## Mechanism", "## Decision", "## Rollback")
    ]
    assert [line for line in chinese.splitlines() if line.startswith("## ")] == [
        *("## 现象", "## 原理", "## 决策", "## 回退")
    ]
    assert codes(english) == codes(chinese)
    assert codes(english) <= RULES.keys()
    assert not re.search("[\u4e00-\u9fff][,;:!?]|[,;!?][\u4e00-\u9fff]", re.sub(r"`[^`]*`", "`", chinese)), slug


@each("slug, given", product(SLUGS, ["all", "required"]))
def test_its_script_runs_with_nothing_but_mqctl(slug: str, given: str, tmp_path: Path) -> None:
    playbook = load_playbook(slug)
    shim, seen = tmp_path / "mqctl", tmp_path / "seen"
    seen.unlink(missing_ok=True)
    shim.write_text(_SHIM)
    shim.chmod(0o755)
    wanted = {item.name for item in playbook.parameters if given == "all" or item.required}
    environment = {name.upper(): value for name, value in values(playbook).items() if name in wanted}
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, str(REPOSITORY / "playbooks" / slug / "run.sh")],
        env={**environment, "PATH": str(tmp_path), "SEEN": str(seen)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("\037")[:-1] for line in seen.read_text().split("\036")[:-1]]
    assert lines
    for words in lines:
        parses(words)
        assert "--execute" not in words
    refused = subprocess.run(
        [bash, str(REPOSITORY / "playbooks" / slug / "run.sh")],
        env={**environment, "PATH": str(tmp_path), "SEEN": str(seen), "ENDS": "70"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, "not expected" in refused.stderr) == (2, True)


def test_scripts_are_executable_and_up_to_date() -> None:
    for name, text in scripts().items():
        path = REPOSITORY / name
        assert path.read_text(encoding="utf-8") == text
        assert os.access(path, os.X_OK), name


def test_a_line_that_does_not_parse_is_noticed() -> None:
    with pytest.raises(UsageError):
        parses(["playbook", "run", "backlog"])
    with pytest.raises(Exception, match="No such option"):
        parses(["group", "lag", "--nonsense"])


def test_the_example_of_the_documentation_is_a_playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / "docs" / "playbooks.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "incident").mkdir()
    (tmp_path / "incident" / "playbook.yaml").write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    playbook = load_playbook("./incident")
    assert [step.id for step in playbook.steps] == ["lag", "way", "skip"]
    for step in playbook.steps:
        if step.command is not None:
            parses(template.filled(step.command, {}, unknown=True))
    for line in command_lines(text):
        if "..." not in line:
            parses(shlex.split(line)[1:])


@each("code", sorted(RULES))
def test_the_line_that_doctor_prints_runs_the_playbook_of_its_rule(code: str) -> None:
    finding = Finding(
        code=code,
        severity=RULES[code].severity,
        subject=Subject(kind=SubjectKind.GROUP, group="G", broker="broker-a"),
        params={"topic": "%RETRY%G"},
        playbook=RULES[code].playbook,
    )
    for source in ("--namesrv 'x:1;y:2'", "--store /data/store", "--snapshot ticket.snap"):
        line = playbook_command(finding, source)
        assert line is not None
        words = shlex.split(line)
        verb = "show" if source.startswith("--snapshot") else "run"  # a snapshot has no cluster to run it on
        assert words[:4] == ["mqctl", "playbook", verb, RULES[code].playbook]
        parses(words[1:])
        assert ("--namesrv" in words) == source.startswith("--namesrv")


@each("slug", SLUGS)
def test_rules_that_a_step_names_can_be_judged_by_what_it_asks(slug: str) -> None:
    """Its source shows them, and its two looks lie as far apart as they need, unless somebody wants them closer."""
    playbook = load_playbook(slug)
    usual = {item.name: item.default for item in playbook.parameters}
    for step in playbook.steps:
        if not (step.command or "").startswith("doctor "):
            continue
        words = shlex.split(str(step.command))
        wanted = [after for word, after in pairwise(words) if word == "--only"]
        named = {code for code in RULES if any(fnmatchcase(code, pattern) for pattern in wanted)}
        named |= {code for result in step.results for code in re.findall(r"MQ\d{3}", result.when)}
        source = OriginKind.STORE if "--store" in words else OriginKind.LIVE
        window_ms = parse_span_ms(str(usual["window"])) if "{window}" in words else None
        for code in sorted(named):
            assert RULES[code].applies_to(source), (step.id, code)
            least = RULES[code].least_window
            assert least is None or (window_ms is not None and window_ms >= least(Settings())), (step.id, code)
