"""Failures in Chinese: every sentence that is raised has it, and none is left over."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from mqctl import errors
from mqctl.errors import MqctlError
from mqctl.model.lang import Lang
from mqctl.render.failures import chinese_sentences, failure_text
from tests.conftest import REPOSITORY, Outcome

OF_PEOPLE = {"UsageError", "NotFoundError", "RefusedError", "ConfigurationError", "PermissionDeniedError"}
OF_PEOPLE |= {"UnreachableError", "DeadlineError", "BadInputError", "TlsError"}
OF_TYPER = re.compile(r"No such|Missing |Option |Got unexpected|Invalid value|.*is not (a valid|one of|in the range)")
ELSEWHERE = {
    "interrupted",
    "could not use {}",
    "could not read or write",
    "mqctl has a bug: {}",
    "run it again with MQCTL_DEBUG=1 and report what it prints",
    "did you mean {}? {}",
    "{} is a command of mqadmin{}",
    "{}`mqctl commands --mqadmin all` lists them all",
    "use {}",
}
"""Written where failures are told, and by what names near ones."""
COMMAND = re.compile(
    r"(mqctl( [a-z-]+){1,3}|pip install|chmod|--)( ?('[^']*'|[A-Z-]+|-{1,2}[a-z-]+|\{\}|[a-z-]+|\d+)[;,]?)*"
)
"""A next step that is nothing but something to type is the same in every language."""


@cache
def raised() -> frozenset[str]:
    return frozenset(_raised())


def _raised() -> Iterator[str]:
    """Yields each sentence of a failure in the sources: problem, reason, remedy; `{}` stands for what is filled in."""
    for file in sorted((REPOSITORY / "mqctl").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OF_PEOPLE:
                texts = [*node.args[:1], *(item.value for item in node.keywords if item.arg in ("reason", "remedy"))]
                yield from (text for text in map(template, texts) if re.search(r"[a-zA-Z]", text.replace("{}", "")))


def template(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(item.value) if isinstance(item, ast.Constant) else "{}" for item in values)
    return ""


def test_every_failure_has_its_chinese() -> None:
    missing = {text for text in raised() if text not in chinese_sentences() and not COMMAND.fullmatch(text)}
    assert missing == set(), "add them to mqctl/render/messages/zh/errors.txt"


def test_no_sentence_is_left_over() -> None:
    known = {*raised(), *ELSEWHERE}
    assert {text for text in chinese_sentences() if text not in known and not OF_TYPER.match(text)} == set()


def test_a_sentence_and_its_chinese_are_filled_with_the_same() -> None:
    assert {
        english for english, chinese in chinese_sentences().items() if english.count("{}") != chinese.count("{}")
    } == set()
    assert all(issubclass(getattr(errors, name, MqctlError), MqctlError) for name in OF_PEOPLE)


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("there is no topic orders in /a b", "没有 Topic orders（在 /a b 中）"),
        ("did you mean a or b? mqctl group list --all", "是不是 a or b？mqctl group list --all"),
        ("what a server says {0}", "what a server says {0}"),
        ("could not open the store /x y", "无法打开存储目录 /x y"),
        ("", ""),
    ],
)
def test_what_is_filled_in_stays(text: str, chinese: str) -> None:
    assert failure_text(text, Lang.ZH) == chinese
    assert failure_text(text, Lang.EN) == text
    assert failure_text(text, None) == text


def test_a_failure_is_told_in_the_language_of_the_command_line(mqctl: Callable[..., Outcome]) -> None:
    words = ("store", "describe", "--store", "/nonexistent")
    assert "mqctl: 无法打开存储目录 /nonexistent: 目录不存在" in mqctl(*words, env={"MQCTL_LANG": "zh"}).stderr
    assert "没有这个选项：--foo" in mqctl("group", "lag", "--foo", env={"MQCTL_LANG": "zh"}).stderr
    assert "MQCTL_LANG=xx is not a language" in mqctl("doctor", env={"MQCTL_LANG": "xx"}).stderr
    told = mqctl(*words, "-o", "json", env={"MQCTL_LANG": "zh"})
    assert json.loads(told.stderr)["problem"] == "could not open the store /nonexistent"
