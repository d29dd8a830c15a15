"""What sentences and rules tell to type can be typed: each command is there, and takes the options beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs.texts import PACKAGE, sources
from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.cli.catalog import Path as Words
from mqctl.rules import RULES

COMMANDS = {entry.path for entry in ENTRIES}
_LINE = re.compile(r"\bmqctl ([a-z-]+)(?: ([a-z-]+))?(?: ([a-z-]+))?")
_END = re.compile(r"[`;,:()]|\. |\.$| (?:and|or|to|then|does|shows|lists|reads|finds|says|the|with the) ")
_OPTION = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]*|-[a-zA-Z])\b(?![\w-])")
_ALWAYS = {"-h", "--help"}
# Rooms whose sentences appear below many commands.
SHARED = ("snapshot", "lag", "model", "allocation", "rules", "stacks")


@cache
def said() -> dict[str, set[str]]:
    """English of every key, and the command lines that rules and errors are made with."""
    known = dict(sources())
    for code, rule in RULES.items():
        texts = rule.texts
        lines = {line for line in (texts.next_command, texts.live_command, texts.command) if line}
        known[f"{code} next"] = lines
    for path in PACKAGE.rglob("*.py"):
        for line in _lines(ast.parse(path.read_text(encoding="utf-8"))):
            known.setdefault(f"line in {path.name}", set()).add(line)
    return known


def _lines(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "command_line":
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def commands_in(text: str) -> Iterator[tuple[Words | None, tuple[str, ...], list[str], tuple[int, int]]]:
    """Yields each command line of a text: its path, the words as written, its options, and where it is."""
    for match in _LINE.finditer(text):
        words = tuple(word for word in match.groups() if word)
        path = next((words[:size] for size in (3, 2, 1) if words[:size] in COMMANDS), None)
        begin = match.end(1)
        end = _END.search(text, begin)
        stop = end.start() if end else len(text)
        yield path, words, _OPTION.findall(text[begin:stop]), (match.start(), stop)


def test_commands_that_sentences_name_are_there_and_take_the_options_beside_them() -> None:
    wrong: list[object] = []
    lines = 0
    nouns = {path[0] for path in COMMANDS}
    for key, texts in sorted(said().items()):
        for text in texts:
            for path, words, options, _ in commands_in(text):
                lines += 1
                if path is None:
                    if words[0] in nouns and len(words) > 1:
                        wrong.append((key, words))
                    continue
                known = set(options_of(path)) | _ALWAYS
                wrong += [(key, path, option) for option in options if option not in known]
    assert wrong == []
    assert lines > 300


def test_an_option_that_some_commands_of_a_cluster_lack_is_not_named_alone() -> None:
    """`--proxy` is one: below a command that lacks it the environment says the same."""
    live = [path for path in COMMANDS if "--namesrv" in options_of(path)]
    of_connection = {"--namesrv", "--profile", "--proxy"}  # the environment has a name for each
    lacking = {option for option in of_connection if any(option not in options_of(path) for path in live)}
    assert "--proxy" in lacking
    shared = {
        key
        for room in SHARED
        for path in (Path(PACKAGE) / room).rglob("*.py")
        for key in re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', path.read_text(encoding="utf-8"))
    }
    alone = []
    for key, texts in said().items():
        if key in shared or re.match(r"mq\d", key):
            for text in texts:
                left = list(text)
                for *_, (begin, stop) in commands_in(text):
                    left[begin:stop] = " " * (stop - begin)
                alone += [(key, option) for option in _OPTION.findall("".join(left)) if option in lacking]
    assert alone == []
