"""What the repository's Markdown files say to type: fenced blocks, code spans, and the mqctl command lines in them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from tests.conftest import REPOSITORY

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<info>[^`\n]*)$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "shell", "console", "zsh", "fish", ""})
_OPERATORS = frozenset("();<>|&")
_PROGRAM = re.compile(r"(?:[\w./-]*/)?mqctl")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        line: number of its first line inside, from 1.
        comment: the HTML comment on the line before it, without its marks.
    """

    file: Path
    line: int
    info: str
    text: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Words after `mqctl`, and where they stand; `whole` tells a line to type from a mention in a sentence."""

    where: str
    words: tuple[str, ...]
    whole: bool


@cache
def files() -> tuple[Path, ...]:
    """Returns the Markdown files of the checkout, those not committed yet included, build output not."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.split()
    if not listed:  # an unpacked source archive
        listed = [str(path.relative_to(REPOSITORY)) for path in REPOSITORY.rglob("*.md")]
        listed = [name for name in listed if not {".venv", "build"} & set(Path(name).parts)]
    return tuple(REPOSITORY / name for name in sorted(listed) if (REPOSITORY / name).exists())


def blocks(file: Path) -> Iterator[Block]:
    """Yields the fenced blocks of a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened is None:
            number += 1
            continue
        end = number + 1
        while lines[end].strip() != opened["ticks"]:
            end += 1
        before = next((line.strip() for line in reversed(lines[:number]) if line.strip()), "")
        comment = before.removeprefix("<!--").removesuffix("-->").strip() if before.startswith("<!--") else ""
        body = "\n".join(line.removeprefix(opened["indent"]) for line in lines[number + 1 : end])
        yield Block(file, number + 2, opened["info"].strip(), body, comment)
        number = end + 1


def command_lines(file: Path) -> Iterator[CommandLine]:
    """Yields the mqctl command lines of a file."""
    name = file.relative_to(REPOSITORY) if file.is_relative_to(REPOSITORY) else file.name
    fenced = list(blocks(file))
    for block in fenced:
        if block.info not in _SHELLS:
            continue
        prompts = any(line.startswith("$ ") for line in block.text.splitlines())
        joined = block.text.replace("\\\n", " ")
        for line in joined.splitlines():
            if prompts and not line.startswith("$ "):
                continue
            for words in split(line.removeprefix("$ ")):
                yield CommandLine(f"{name}:{block.line}", words, whole=True)
    sentences = _without(file, fenced)
    for line in re.findall(r"^ {4,}(?:\$ )?(mqctl .+)$", sentences, re.MULTILINE):
        for words in split(line):
            yield CommandLine(f"{name}: {line}", words, whole=True)
    for span in _SPAN.finditer(sentences):
        text = " ".join(span[2].split()).replace("\\|", "|")
        if text.startswith("mqctl "):
            for choice in _alternatives(text.split()):
                for spelled in split(" ".join(choice)):
                    yield CommandLine(f"{name}: `{text}`", spelled, whole=False)


def _without(file: Path, fenced: list[Block]) -> str:
    text = file.read_text(encoding="utf-8")
    for block in fenced:
        text = text.replace(block.text, "", 1) if block.text else text
    return "\n".join(line for line in text.splitlines() if not _FENCE.match(line))


def _alternatives(words: list[str]) -> Iterator[list[str]]:
    """Yields a line for each choice of words such as `broker|topic`; `...` stands for what may follow."""
    pairs = zip(["", *words], words, strict=False)
    valued = ["VALUE" if word == "..." and before.startswith("-") else word for before, word in pairs]
    kept = [word for word in valued if not word.startswith("...")]
    choices = [word.split("|") if re.fullmatch(r"[\w-]+(\|[\w-]+)+", word) else [word] for word in kept]
    yield from map(list, product(*choices))


def split(line: str) -> Iterator[tuple[str, ...]]:
    """Yields the words of each mqctl call in a shell line, after `mqctl`, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # an apostrophe in what a program printed
        return
    call: list[str] | None = None
    for token in [*tokens, ";"]:
        if token and set(token) <= _OPERATORS:
            if call is not None:
                # `2>` leaves its number behind.
                yield tuple(call[:-1] if token.startswith(">") and call[-1:] in (["1"], ["2"]) else call)
            call = None
        elif call is not None:
            call.append(token)
        elif _PROGRAM.fullmatch(token):
            call = []
