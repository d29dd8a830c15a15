"""The measures of the house count what they say, on small trees whose numbers are counted by hand."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from benchmarks.measures import history, sources, tracing
from benchmarks.measures.__main__ import seconds_by_room, table


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def read(root: Path, files: Mapping[str, str]) -> list[sources.Source]:
    write(root, files)
    return sources.sources(root)


def test_blanks_comments_imports_and_docstrings_are_no_code(tmp_path: Path) -> None:
    text = '''"""A docstring
of two lines."""

from os import (
    path,
)

LIMIT = 3  # one
"""What it limits."""

# a comment
TEXT = """two

# four
"""  # five


def twice(
    number: int,
) -> int:
    """Doubles.

    Much.
    """
    from math import prod

    return prod((2, number))
'''
    (source,) = read(tmp_path, {"mqctl/a.py": text})
    # LIMIT, the four lines of TEXT, three of the signature, return.
    assert sources.code_lines(source) == 1 + 4 + 3 + 1


def test_lines_are_summed_by_room_and_tests_are_one(tmp_path: Path) -> None:
    files = {
        "mqctl/main.py": "a = 1\n",
        "mqctl/store/x.py": "a = 1\nb = 2\n",
        "mqctl/store/deep/y.py": "a = 1\n",
        "embedded_broker/log/z.py": "a = 1\n",
        "tests/store/test_x.py": "a = 1\nb = 2\n",
        "tests/test_y.py": "a = 1\nb = 2\n",
    }
    rooms = sources.lines_by_room(read(tmp_path, files))
    assert rooms == {"tests": 4, "mqctl/store": 3, "mqctl": 1, "embedded_broker/log": 1}


def test_twins_share_four_fifths_of_the_smaller_ones_fields(tmp_path: Path) -> None:
    def record(head: str, fields: str) -> str:
        return head + "".join(f"    {field}: int\n" for field in fields)

    files = {
        "mqctl/a.py": record("@dataclass(frozen=True)\nclass A:\n    KIND: ClassVar[int]\n", "abcde"),
        "mqctl/b.py": record("class B(msgspec.Struct, frozen=True):\n", "abcdxyz")  # four of five: a twin of A
        + record("@dataclass\nclass Small:\n", "abc"),  # too few fields to say anything
        "mqctl/c.py": record("@dataclasses.dataclass\nclass C:\n", "abcvw"),  # three of five
        "mqctl/d.py": record("class D:\n", "abcde"),  # no record
        "embedded_broker/e.py": record("@dataclass\nclass E:\n", "vwxyz") + record("@dataclass\nclass F:\n", "vwxyz"),
    }
    pairs = sources.twins(read(tmp_path, files))
    assert [(one.name, other.name, shared) for one, other, shared in pairs] == [("A", "B", 4)]


def test_a_rule_is_counted_where_its_code_is_named_and_where_its_module_is_registered(tmp_path: Path) -> None:
    files = {
        "mqctl/rules/lost.py": '@rule("MQ101", needs=())\ndef lost(): ...\n@rule(code="MQ102")\ndef late(): ...\n',
        "mqctl/rules/__init__.py": "from mqctl.rules import lost\n",  # registers the module of both
        "mqctl/texts/lost.py": 'TEXTS = {"MQ101": "lost", "MQ102": "late"}\n',
        "mqctl/scenario.yaml": "expects: [MQ102]\n",
        "mqctl/other.py": "MQ1010 = losts = 1\n",
        "playbooks/lost/playbook.yaml": "codes: [MQ101]\n",
        "tests/test_lost.py": 'CODES = ["MQ101"]\n',
    }
    parsed = read(tmp_path, files)
    assert sources.files_of_rules(tmp_path, parsed) == {
        "mqctl": {"MQ101": 3, "MQ102": 4},
        "playbooks": {"MQ101": 1, "MQ102": 0},
    }
    assert sources.rule_files(tmp_path, parsed) == {
        "rules": 2,
        "in mqctl, median": 3.5,
        "in playbooks, median": 0.5,
    }


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("pass", 1),
        ("if a:\n  b\n elif c:\n  d\n else:\n  e", 3),
        ("return a and b or c", 3),
        ("return [x if x else y for x in a if x]", 4),
        ("for x in a:\n  b\n else:\n  c", 3),
        ("try:\n  a\n except E:\n  b\n except F:\n  c", 3),
        ("def inner():\n  while a: b", 2),
    ],
)
def test_complexity(body: str, count: int) -> None:
    (function,) = ast.parse(f"def f():\n {body}\n").body
    assert isinstance(function, ast.FunctionDef)
    assert sources.complexity(function) == count


def test_only_functions_above_the_limit_are_complex(tmp_path: Path) -> None:
    def function(name: str, branches: int) -> str:
        return f"def {name}():\n" + " if a: b\n" * branches

    parsed = read(tmp_path, {"mqctl/a.py": function("at_limit", 14) + "class A:\n def over():\n" + "  if a: b\n" * 15})
    path = PurePosixPath("mqctl/a.py")
    assert sources.complex_functions(parsed) == [(16, path, "over")]
    assert sources.complex_to_ruff(tmp_path) == 1


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Gives a repository whose first commit brings MQ101; the next bring MQ102, move both, and touch one room."""
    rule = '@rule(\n    "{}",\n)\ndef {}(): ...\n'
    old, new = rule.format("MQ101", "old"), rule.format("MQ102", "new")
    commits: list[tuple[str, dict[str, str]]] = [
        ("Begin", {"mqctl/rules/mq1.py": old, "mqctl/render/a.py": "", "tests/test_a.py": ""}),
        (
            "A rule",
            {
                "mqctl/rules/mq1.py": old + new,
                "mqctl/render/a.py": "MQ102",
                "tests/test_a.py": "MQ102",
                "CHANGELOG.md": "MQ102",
            },
        ),
        ("A move", {"mqctl/rules/mq2.py": old + new, "mqctl/rules/mq1.py": ""}),
        ("x" * 73, {"mqctl/store/deep/b.py": "1", "mqctl/store/c.py": "1"}),
        ("y" * 72, {"README.md": "1"}),
    ]
    git = ("git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run((*git, "init", "--quiet"), check=True)
    for subject, files in commits:
        write(tmp_path, files)
        subprocess.run((*git, "add", "."), check=True)
        subprocess.run((*git, "commit", "--quiet", "-m", subject), check=True)
    return tmp_path


def test_rooms_and_subjects_of_commits(repository: Path) -> None:
    commits = history.last_commits(repository, 4)
    assert [sorted(commit.rooms) for commit in commits] == [
        ["."],
        ["mqctl/store"],
        ["mqctl/rules"],
        [".", "mqctl/render", "mqctl/rules", "tests"],
    ]
    assert list(history.rooms(commits).values()) == [4, 1, 2, 1]
    assert history.subjects(commits) == 1


def test_only_commits_that_declare_a_new_code_bring_a_rule(repository: Path) -> None:
    assert history.rule_commits(repository, 20) == {
        "commits with a new rule": 1,
        "files of such a commit, median": 4,
        "of these outside tests and docs": 2,
    }


def test_a_trip_is_the_functions_that_ran_outside_of_imports(tmp_path: Path) -> None:
    files = {
        "mqctl/__init__.py": "",
        "mqctl/__main__.py": "from mqctl import a\na.first()\n",
        "mqctl/a.py": (
            "from threading import Thread\n"
            "def made(): return 1\n"
            "LIMIT = made()\n"  # an import calls this
            "def first():\n"
            "    from mqctl import b\n"
            "    class Local: size = 1\n"  # the body of a class is no function
            "    b.second(); b.second()\n"
            "    thread = Thread(target=b.third); thread.start(); thread.join()\n"
            "    return [x for x in (1, 2)]\n"
        ),
        "mqctl/b.py": "from mqctl import c, d\ndef second(): return c.deep()\ndef third(): return d.deepest()\n",
        "mqctl/c.py": "def deep(): return 1\n",
        "mqctl/d.py": "def deepest(): return 1\n",
        "mqctl/unused.py": "def unused(): return 1\n",
    }
    write(tmp_path, files)
    result = tmp_path / "result.json"
    words = (sys.executable, "-P", tracing.__file__, str(result), "client", "mqctl")
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert json.loads(result.read_bytes()) == {
        "files": 4,
        "functions": 5,
        "calls": 7,
        "file hops": 5,  # a b c b c, and b d in the thread
    }


def test_seconds_of_a_test_room(tmp_path: Path) -> None:
    case = '<testcase classname="tests.{}" name="test" time="{}" />'
    cases = [("live.doctor.test_a", 1.5), ("store.test_b", 3), ("live.test_c", 2)]
    file = tmp_path / "tests.xml"
    file.write_text(f"<testsuites>{''.join(case.format(*each) for each in cases)}</testsuites>", encoding="utf-8")
    assert list(seconds_by_room(file).items()) == [("tests/live", 3.5), ("tests/store", 3.0)]


def test_both_columns_name_what_only_one_has() -> None:
    base, now = {"lines": {"mqctl/old": 1200, "all": 1200.5}}, {"lines": {"mqctl/new": 800, "all": 800}}
    rows = [line.split() for line in table(now, base)]
    assert rows == [["lines"], ["mqctl/new", "-", "800"], ["all", "1,200.5", "800"], ["mqctl/old", "1,200", "-"]]
