"""Command lines that mqctl prints: whatever names hold, a shell passes each on as one word and runs nothing else."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.cli import catalog
from mqctl.main import load_command
from mqctl.model.command_line import command_line, shell_words
from mqctl.model.expectation import CheckState
from mqctl.model.finding import Finding
from mqctl.model.lang import Lang
from mqctl.model.origin import OriginKind
from mqctl.render.checks import _NEXT, with_next
from mqctl.render.findings import playbook_command
from mqctl.render.translation import CATALOGUE, read_catalogue
from mqctl.rules import diagnose
from mqctl.rules.engine.expecting import Checked, result
from tests.conftest import REPOSITORY
from tests.render.catalogues import finding_texts, rule_texts
from tests.render.test_texts import TEMPLATES
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, cluster
from tests.shells_reading import SHELLS, words_read

HOSTILE = (
    "orders x",
    "$(touch pwned)",
    "`touch pwned`",
    "x;touch pwned",
    "x && touch pwned",
    "x | tee pwned > pwned",
    'it\'s "quoted" \\',
    "--execute",
    "-h",
    "-",
    "--",
    "*",
    "~",
    "=ls",
    "#x",
    "!!",
    "{a,b}",
    "${IFS}$HOME",
    "订单 组",
    "\u3000",
    "",
)
UNPRINTABLE = ("a\ntouch pwned\n", "\x03touch pwned\r", "\x1b]0;x\x07", "\u202egpj", "a\0b")
NOUNS = "|".join(catalog.children(()))
IN_BACKTICKS = re.compile(r"`(mqctl (?:'[^']*'|\"'\"|[^`'])+)`")
PLACES = ("group", "topic", "broker", "client", "user")
OPTIONS = ("--namesrv", "--store", "--snapshot")
ONE_OF_EACH = tuple((SHELLS[number % len(SHELLS)], option) for number, option in enumerate(OPTIONS))


@cache
def reported() -> tuple[Finding, ...]:
    """A finding of each rule and cause."""
    by_cause = {
        (item.code, item.params.get("cause"), item.variant): item
        for fault in (*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS))
        for item in diagnose(cluster(fault.broker), settings=fault.settings).findings
    }
    return tuple(by_cause.values())


def named(finding: Finding, name: str) -> Finding:
    """The finding, of things with that name."""
    params = {key: name if isinstance(value, str) and key in PLACES else value for key, value in finding.params.items()}
    return replace(finding, params=params)


def lines_of(finding: Finding, source: str) -> list[str]:
    """Each command line that is printed of a finding."""
    said = [finding_texts(finding, lang, source) for lang in Lang]
    in_sentences = [line for text in said for line in IN_BACKTICKS.findall(text.advice)]
    return [*filter(None, (said[0].next_command, playbook_command(finding, source))), *in_sentences]


def parsed(words: list[str]) -> dict[str, object]:
    """What our own command line reads."""
    path = next(tuple(words[:size]) for size in (3, 2, 1) if tuple(words[:size]) in catalog.BY_PATH)
    return load_command(path).make_context("mqctl", words[len(path) :]).params


def with_names(value: object, old: str, new: str) -> object:
    if isinstance(value, list | tuple):
        return type(value)(with_names(item, old, new) for item in value)
    return value.replace(old, new) if isinstance(value, str) else value


# A shell reads the lines as they are, whichever option is in them: each shell and each option once, the rest is long.
@pytest.mark.parametrize(
    ("shell", "option"),
    [pair if pair in ONE_OF_EACH else pytest.param(*pair, marks=pytest.mark.long) for pair in product(SHELLS, OPTIONS)],
)
def test_commands_of_every_rule_keep_hostile_names_as_words(shell: str, option: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plain = [lines_of(named(item, "NAMED"), f"{option} SOURCE") for item in reported()]
    assert sum("NAMED" in line for lines in plain for line in lines) > 80
    lines, expected = [], []
    for name in HOSTILE:
        for item, like in zip(reported(), plain, strict=True):
            hostile = lines_of(named(item, name), shell_words([option, f"{name} /"]))
            assert len(hostile) == len(like)
            lines += hostile
            expected += [_meant(line, name) for line in like]
    for line, words, wanted in zip(lines, words_read(shell, lines, tmp_path), expected, strict=True):
        assert sorted(word for word in words if word != "--") == sorted(word for word in wanted if word != "--"), line


def _meant(line: str, name: str) -> list[str]:
    kept = [word.replace("SOURCE", f"{name} /").replace("NAMED", name) for word in shlex.split(line)[1:]]
    empty = re.compile(r"[a-z_]+=")  # of a playbook's parameter: shown as what to fill in
    return [f"{word}{word[:-1].upper()}" if "playbook" in kept and empty.fullmatch(word) else word for word in kept]


def test_without_an_option_that_names_the_evidence_commands_are_whole() -> None:
    for item in reported():
        for line in lines_of(named(item, "orders x"), ""):
            words = shlex.split(line)
            assert words[0] == "mqctl" and "" not in words, line


def test_our_own_command_line_reads_the_names_again() -> None:
    for item in reported():
        for name in ("--execute", "-h", "orders x", "--"):
            like = lines_of(named(item, "NAMED"), "--namesrv SOURCE")
            for line, plain in zip(lines_of(named(item, name), "--namesrv SOURCE"), like, strict=True):
                if "NAMED" not in plain:
                    continue
                read, meant = (parsed(shlex.split(text)[1:]) for text in (line, plain))
                assert read == {key: with_names(value, "NAMED", name) for key, value in meant.items()}, line


@pytest.mark.parametrize("shell", SHELLS)
def test_next_of_every_check_names_the_subject_itself(shell: str, tmp_path: Path) -> None:
    state = cluster(FAULTS[0].broker)
    live = replace(state, origin=replace(state.origin, kind=OriginKind.LIVE, location="$(touch pwned)", archive=None))
    lines: list[str] = []
    names: list[str | None] = []
    for check, template in _NEXT.items():
        for kind in ("group", "topic", "broker"):
            if "broker" in template and kind != "broker":
                continue
            for name in HOSTILE:
                (item,) = with_next([result(check, Checked(kind, name), CheckState.ERROR, "")], live)
                assert item.subject == f"{kind} {name}" and item.name == name
                lines.append(item.next_command or "")
                names.append(name if re.search(r"\{(name|broker)\}", template) else None)
    for line, said, words in zip(lines, names, words_read(shell, lines, tmp_path), strict=True):
        assert "$(touch pwned)" in words
        assert said is None or any(word.partition("=")[2] == said or word == said for word in words), line


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_not_printable_is_escaped_and_never_obeyed(shell: str, tmp_path: Path) -> None:
    lines = [command_line("mqctl group lag -g {} -t {}", name, name) for name in UNPRINTABLE]
    assert all(line.isprintable() for line in lines)
    for name, words in zip(UNPRINTABLE, words_read(shell, lines, tmp_path), strict=True):
        escaped = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)
        assert words == ["group", "lag", "-g", escaped, "-t", escaped]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), min_size=1))
def test_any_words_reach_the_program(words: list[str]) -> None:
    line = shell_words(["mqctl", *words])
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line)
    with TemporaryDirectory() as place:
        (read,) = words_read("sh", [line], Path(place))
    assert len(read) == len(words)
    assert [after for after, before in zip(read, words, strict=True) if before.isprintable()] == [
        word for word in words if word.isprintable()
    ]


@given(st.text(alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))))
def test_any_printable_name_stays_one_word(name: str) -> None:
    line = command_line("mqctl group lag {} -g {group}", ["-n", name], group=name)
    assert shlex.split(line) == ["mqctl", "group", "lag", "-n", name, "-g", name]
    read = shlex.split(command_line("mqctl topic describe {} -q {}", name, 3))[3:]
    assert read == (["-q", "3", "--", name] if name.startswith("-") else [name, "-q", "3"])


def pieces(source: str) -> Iterator[tuple[int, str]]:
    """Yields the texts that a module fills itself, a NUL where a value goes: f-strings, templates of `format`, sums."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr():
                yield node.lineno, "".join(map(_text, node.values))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format" | "format_map")):
                yield node.lineno, re.sub(r"\{[^}]*\}", "\0", text)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield node.lineno, _text(left) + _text(right)
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
                yield node.lineno, re.sub(r"%[a-z(]", "\0", text)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="shell_word" | "command_line"))):
            return "WORD"
        case ast.JoinedStr(values=values):
            return "".join(map(_text, values))
    return "\0"


COMMAND = rf"\bmqctl (?:{NOUNS})(?![\w-])[^;:,()`\0]*[ =\"']\0"
UNQUOTED = re.compile(rf"{COMMAND}|\badd (?:-{{1,2}}[a-z-]+ )+\0")
"""A value in a command, or in an option that has to be added, before the sentence goes on."""


def test_no_module_puts_a_value_into_a_command_line_itself() -> None:
    modules = sorted((REPOSITORY / "mqctl").rglob("*.py"))
    unquoted = [
        f"{file.relative_to(REPOSITORY)}:{line}: {text!r}"
        for file in modules
        for line, text in pieces(file.read_text(encoding="utf-8"))
        if UNQUOTED.search(text)
    ]
    assert len(modules) > 1000 and unquoted == [], "use mqctl.model.command_line"


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('f"mqctl group lag -g {group}"', True),
        ('f"stop them; mqctl group members -g {group} lists them"', True),
        ('"mqctl topic route -t {}".format(topic)', True),
        ('"mqctl broker config " + name', True),
        ('f"nothing was changed; add --execute --confirm {name} to do it"', True),
        ('command_line("mqctl group lag -g {}", group)', False),
        ('f"add --confirm {shell_word(name)}"', False),
        ('f"{topic} is not there: mqctl topic list shows them"', False),
    ],
)
def test_the_look_at_the_sources_finds_what_it_should(source: str, *, is_found: bool) -> None:
    assert any(UNQUOTED.search(text) for _, text in pieces(source)) is is_found


def test_no_sentence_of_a_catalogue_has_a_place_in_a_bare_command() -> None:
    texts = [
        text
        for lang in Lang
        for rule in rule_texts(lang).values()
        for text in (*rule.what.values(), rule.effect, rule.advice)
    ]
    texts += [template for _, template in TEMPLATES]
    texts += read_catalogue(CATALOGUE.read_text(encoding="utf-8")).values()
    assert sum(len(IN_BACKTICKS.findall(text)) for text in texts) > 5
    bare = [re.sub(r"\{[^}]*\}", "\0", IN_BACKTICKS.sub("", text)) for text in texts]
    assert [text for text in bare if re.search(COMMAND, text)] == []
