"""mqctl where little is as usual: no UTF-8, no reader, closed streams, no home, a home that cannot be written, a
narrow terminal. Always as a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from mqctl.render.layout import width
from tests.conftest import REPOSITORY, Outcome
from tests.live.terminal import run_on_terminal

Run = Callable[..., Outcome]
Store = Callable[[str], Path]
ASCII = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


def shell(script: str, home: Path, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Runs a line of bash in which `mqctl` is the real one."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    line = f'mqctl() {{ {sys.executable} -m mqctl "$@"; }}; {script}'
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**environment, **(env or {})}, cwd=home, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("env", ASCII, ids=["ioencoding", "locale"])
def test_without_utf_8_nothing_is_lost(mqctl: Run, golden_store: Store, env: dict[str, str]) -> None:
    words = ("doctor", "--store", golden_store("store-killed"), "--lang", "zh")
    usual, here = mqctl(*words), mqctl(*words, env=env)
    assert (here.exit_code, here.stderr, here.stdout.isascii()) == (usual.exit_code, "", True)
    assert not usual.stdout.isascii()
    assert here.stdout.encode().decode("unicode_escape") == usual.stdout
    for form in ("json", "yaml"):
        read = json.loads if form == "json" else yaml.safe_load
        shown = mqctl(*words, "-o", form, env=env)
        assert shown.stdout.isascii()
        assert read(shown.stdout) == read(mqctl(*words, "-o", form).stdout)


@pytest.mark.parametrize("env", ASCII, ids=["ioencoding", "locale"])
def test_without_utf_8_every_help_is_shown(mqctl: Run, env: dict[str, str]) -> None:
    for words in (("--help",), ("group", "lag", "-h"), ("stacks", "dump", "-h")):
        outcome = mqctl(*words, env=env)
        assert (outcome.exit_code, outcome.stderr, "Usage: mqctl" in outcome.stdout) == (0, "", True)


def test_bytes_that_are_no_utf_8_are_shown_escaped(golden_store: Store, tmp_path: Path) -> None:
    store = golden_store("store-clean")
    code, out, errors = shell(f"mqctl explain $'M\\xff' -o json; cp -r {store} $'\\xff'; mqctl store describe "
                            "--store $'\\xff' -o json", tmp_path)  # fmt: skip
    assert (code, json.loads(out)["origin"]["location"]) == (0, "\\udcff")
    assert json.loads(errors)["problem"] == "no word like M\\udcff is explained here"


@pytest.mark.parametrize("form", ["table", "json", "ndjson", "yaml", "csv"])
def test_a_reader_that_goes_away_does_not_change_the_verdict(golden_store: Store, tmp_path: Path, form: str) -> None:
    line = f"mqctl doctor --store {golden_store('store-killed')} -o {form} | true; exit ${{PIPESTATUS[0]}}"
    assert shell(line, tmp_path) == (1, "", "")


def test_a_reader_that_goes_away_ends_what_would_not_end(tmp_path: Path) -> None:
    up = "mqctl local up --memory >up 2>&1 && mqctl group lag --watch --every 100ms -o json"
    code, out, errors = shell(
        f"{up} | head -1; ended=${{PIPESTATUS[0]}}; mqctl local down >down 2>&1; exit $ended", tmp_path
    )
    assert (code, out, errors) == (0, "{\n", "")


def test_closed_streams(golden_store: Store, tmp_path: Path) -> None:
    assert shell(f"mqctl doctor --store {golden_store('store-killed')} >&- 2>&-", tmp_path) == (1, "", "")
    assert shell("mqctl explain nonsense <&- >&-", tmp_path)[0] == 66


@pytest.mark.parametrize("words", ["rules list", "--version", "--help", "__complete doc"])
def test_a_full_disk_behind_stdout_is_an_error(tmp_path: Path, words: str) -> None:
    code, _, errors = shell(f"mqctl {words} > /dev/full", tmp_path)
    assert (code, errors) == (74, "mqctl: could not read or write: No space left on device\n")


class TestHome:
    """HOME is not writable; root is stopped as others are, by leaving it no capabilities."""

    @pytest.fixture
    def at_home(self, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
        home = tmp_path / "home"
        home.mkdir()
        home.chmod(0o555)
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and setpriv is not installed: a read-only home was left out")
        powerless = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []

        def run(*words: object) -> tuple[int, str, str]:
            command = [*powerless, sys.executable, "-m", "mqctl", *map(str, words)]
            env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"}
            done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
            return done.returncode, done.stdout, done.stderr

        return run

    def test_what_reads_works(self, at_home: Callable[..., tuple[int, str, str]], golden_store: Store) -> None:
        code, out, errors = at_home("doctor", "--store", golden_store("store-killed"))
        assert (code, "MQ103" in out, errors) == (1, True, "")
        for words in (("profile", "show"), ("history",), ("playbook", "list"), ("--version",)):
            assert at_home(*words)[::2] == (0, ""), words
        assert at_home("__complete", "group", "lag", "-n", "127.0.0.1:1", "-g", "") == (0, "", "")

    @pytest.mark.parametrize(
        ("words", "code", "variable"),
        [
            (("profile", "add", "p", "-n", "127.0.0.1:1"), 77, "MQCTL_CONFIG_DIR"),
            (("local", "up"), 74, "MQCTL_STATE_DIR"),
        ],
    )
    def test_what_keeps_something_says_where_else(
        self, at_home: Callable[..., tuple[int, str, str]], words: tuple[str, ...], code: int, variable: str
    ) -> None:
        ended, out, errors = at_home(*words)
        assert (ended, out, f"next: set {variable}" in errors) == (code, "", True), errors

    @pytest.mark.parametrize("mode", [0o000, 0o400])
    def test_a_journal_that_one_may_not_look_into_is_named(
        self, at_home: Callable[..., tuple[int, str, str]], tmp_path: Path, mode: int
    ) -> None:
        journal = tmp_path / "home" / ".local" / "state" / "mqctl" / "journal"
        journal.parent.parent.parent.parent.chmod(0o755)
        journal.mkdir(parents=True)
        (journal / "20261101-000000-aab4.json").write_text("{}")
        journal.chmod(mode)
        code, _, errors = at_home("history")
        assert (code, f"could not read {journal}" in errors) == (74, True), errors
        assert "Permission denied; it is left out" in errors
        journal.chmod(0o700)

    def test_what_must_not_be_read_ends_with_one_code(
        self, at_home: Callable[..., tuple[int, str, str]], golden_store: Store, tmp_path: Path
    ) -> None:
        file = tmp_path / "closed.yaml"
        file.touch(0o000)
        for words in (
            ("profile", "add", "p", "-n", "127.0.0.1:1", "--acl-file", file),
            ("check", file, "-n", "127.0.0.1:1"),
            ("doctor", "--quick", "--store", golden_store("store-killed"), "--known", file),
        ):
            code, out, errors = at_home(*words)
            assert (code, out, f"{file}: Permission denied" in errors) == (77, "", True), (words, errors)
            assert "next: run as a user who may read it" in errors


class TestNobody:
    """Neither HOME nor the list of users names a home, as in a container with a user id of its own."""

    @pytest.fixture
    def as_nobody(self, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
        prefix = ["unshare", "--user", "--map-user=12345"]
        if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
            pytest.skip("this machine gives no user namespaces: a user without a home was left out")

        def run(*words: object) -> tuple[int, str, str]:
            command = [*prefix, sys.executable, "-m", "mqctl", *map(str, words)]
            env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"}
            done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
            assert list(tmp_path.iterdir()) == []  # no directory called `~`
            return done.returncode, done.stdout, done.stderr

        return run

    def test_what_needs_no_home_works(
        self, as_nobody: Callable[..., tuple[int, str, str]], golden_store: Store
    ) -> None:
        code, out, errors = as_nobody("doctor", "--store", golden_store("store-killed"))
        assert (code, "MQ103" in out, errors) == (1, True, "")
        assert as_nobody("topic", "list", "-n", "127.0.0.1:1")[0] == 69
        assert as_nobody("__complete", "group", "lag", "-g", "") == (0, "", "")
        assert as_nobody("__complete", "profile", "use", "") == (0, "", "")

    def test_what_needs_one_names_the_variable(self, as_nobody: Callable[..., tuple[int, str, str]]) -> None:
        for words, variable in ((("topic", "list"), "CONFIG"), (("history",), "STATE"), (("local", "up"), "STATE")):
            code, out, errors = as_nobody(*words)
            assert (code, out, f"set MQCTL_{variable}_DIR" in errors) == (78, "", True), errors


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("group", "lag", "-h"),
        ("doctor", "--store", "STORE"),
        ("doctor", "--store", "STORE", "--lang", "zh"),
        ("group", "lag", "--store", "STORE", "-o", "wide"),
        ("store", "describe", "--store", "STORE"),
        ("rules", "list"),
        ("commands",),
        ("allocation", "simulate", "--queues", "16", "--clients", "3", "--compare"),
    ],
)
def test_a_terminal_of_sixty_columns(golden_store: Store, tmp_path: Path, words: tuple[str, ...]) -> None:
    store = str(golden_store("store-killed"))
    command = [store if word == "STORE" else word for word in words]
    seen = run_on_terminal(tuple(command), {"COLUMNS": "60"}, {}, tmp_path)
    assert seen.exit_code in {0, 1}
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.text).splitlines()
    assert len(lines) > 3
    # What is for copying stays one line: the terminal may wrap it, and hands it over as one.
    copied = [line for line in lines if re.search(r"(^\s*|: |：| \| )mqctl ", line)]
    assert [line for line in lines if width(line) > 60 and line not in copied] == []
    if words[:2] == ("doctor", "--store"):
        assert any(line.endswith(f": mqctl store verify --store {store}") for line in lines)


def test_a_terminal_without_colours_is_as_wide_as_one_with(golden_store: Store, tmp_path: Path) -> None:
    words = ("group", "lag", "--store", str(golden_store("store-killed")), "-o", "wide")
    colours, none = (
        run_on_terminal(words, {"COLUMNS": "60", **more}, {}, tmp_path).text for more in ({}, {"NO_COLOR": "1"})
    )
    assert "\x1b[" in colours
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", colours) == none
