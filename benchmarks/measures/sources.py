"""Counts in the sources below a root: lines of code by room, twin records, rules, complex functions."""

from __future__ import annotations

import ast
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path, PurePosixPath

PACKAGES = ("mqctl", "embedded_broker")
COMPLEXITY = 15
_RULE_CODE = re.compile(r"MQ\d{3}")
RULE_TOPS = ("mqctl", "playbooks")
_TEXTS = {".py", ".yaml", ".yml", ".txt", ".po", ".toml", ".md", ".sh", ".json"}


@dataclass(frozen=True, slots=True)
class Source:
    """A Python module. `path` is relative to the root."""

    path: PurePosixPath
    text: str
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class Record:
    """A dataclass or msgspec Struct and the fields of its own body."""

    path: PurePosixPath
    name: str
    fields: frozenset[str]


def sources(root: Path, tops: Iterable[str] = (*PACKAGES, "tests")) -> list[Source]:
    """Reads and parses the modules below the folders `tops` of `root`."""
    read = []
    for top in tops:
        for file in sorted((root / top).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            read.append(Source(PurePosixPath(file.relative_to(root).as_posix()), text, ast.parse(text)))
    return read


def room_of(path: PurePosixPath) -> str:
    """Returns the folder of a file, two levels deep at most; files at the top are in `.`."""
    return "/".join(path.parts[:-1][:2]) or "."


def code_lines(source: Source) -> int:
    """Counts the lines of code: no blanks, comments, imports, docstrings or strings that stand alone as one."""
    left_out: set[int] = set()
    quoted: set[int] = set()  # a blank line or a # within a string is data
    for node in ast.walk(source.tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                quoted.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.text.split("\n"), start=1)
    written = (number for number, line in lines if number in quoted or line.strip()[:1] not in ("", "#"))
    return sum(number not in left_out for number in written)


def lines_by_room(read: Sequence[Source]) -> dict[str, int]:
    """Returns the lines of code of each room, most first; tests are one room."""
    counts: Counter[str] = Counter()
    for source in read:
        counts["tests" if source.path.parts[0] == "tests" else room_of(source.path)] += code_lines(source)
    return dict(counts.most_common())


def records(read: Iterable[Source]) -> Iterator[Record]:
    """Yields the dataclasses and Structs that have fields of their own."""
    for source in read:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and _is_record(node):
                fields = frozenset(
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                    and not ast.unparse(part.annotation).startswith("ClassVar")
                )
                if fields:
                    yield Record(source.path, node.name, fields)


def _is_record(node: ast.ClassDef) -> bool:
    marks = [*node.decorator_list, *node.bases]
    words = {ast.unparse(mark.func if isinstance(mark, ast.Call) else mark).rpartition(".")[2] for mark in marks}
    return bool(words & {"dataclass", "Struct"})


def twins(read: Iterable[Source], least_fields: int = 4) -> list[tuple[Record, Record, int]]:
    """Returns pairs of records of different files that share four fifths of the smaller one's fields, with how many.

    Args:
        least_fields: records with fewer fields are left out: they resemble each other by accident.
    """
    pairs = []
    large = [record for record in records(read) if len(record.fields) >= least_fields]
    for one, other in combinations(large, 2):
        shared = len(one.fields & other.fields)
        if one.path != other.path and shared * 5 >= min(len(one.fields), len(other.fields)) * 4:
            pairs.append((one, other, shared))
    return sorted(pairs, key=lambda pair: (-pair[2], str(pair[0].path), str(pair[1].path)))


def rule_modules(read: Iterable[Source]) -> dict[str, PurePosixPath]:
    """Returns for each code of a rule the module that declares it: there it is an argument of a decorator."""
    declared = {}
    for source in read:
        for node in ast.walk(source.tree):
            for mark in getattr(node, "decorator_list", ()):
                if not isinstance(mark, ast.Call):
                    continue
                for value in (*mark.args, *(keyword.value for keyword in mark.keywords)):
                    if isinstance(value, ast.Constant) and _RULE_CODE.fullmatch(str(value.value)):
                        declared[str(value.value)] = source.path
    return declared


def files_of_rules(root: Path, read: Iterable[Source]) -> dict[str, dict[str, int]]:
    """Counts for each rule the files of each top folder of the product that name its code or register its module.

    A file registers a module if it names it as a word and names none of the module's codes.
    """
    declared = rule_modules(read)
    stems = {path.stem for path in declared.values()}
    files: dict[str, dict[str, int]] = {}
    for top in RULE_TOPS:
        naming: Counter[str] = Counter()
        for file in (root / top).rglob("*"):
            if file.suffix not in _TEXTS or not file.is_file():
                continue
            words = set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
            codes = words & declared.keys()
            naming.update(codes)
            naming.update((words & stems) - {declared[code].stem for code in codes} - {file.stem})
        files[top] = {code: naming[code] + naming[path.stem] for code, path in declared.items()}
    return files


def rule_files(root: Path, read: Sequence[Source]) -> dict[str, float]:
    """Returns how many rules there are, and the median files of one in each top folder of the product."""
    files = files_of_rules(root, read)
    medians = {f"in {top}, median": statistics.median(counts.values() or [0]) for top, counts in files.items()}
    return {"rules": len(files[RULE_TOPS[0]]), **medians}


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns the cyclomatic complexity of a function, its nested functions included.

    Boolean operators, conditional expressions, comprehensions and their conditions count as branches do; ruff's C901
    counts statements only.
    """
    count = 1
    for node in ast.walk(function):
        match node:
            case ast.If() | ast.IfExp() | ast.ExceptHandler() | ast.match_case() | ast.Assert():
                count += 1
            case ast.For() | ast.AsyncFor() | ast.While() | ast.Try() | ast.TryStar():
                count += bool(node.orelse) + (not isinstance(node, ast.Try | ast.TryStar))
            case ast.BoolOp():
                count += len(node.values) - 1
            case ast.comprehension():
                count += 1 + len(node.ifs)
    return count


def complex_functions(read: Iterable[Source], limit: int = COMPLEXITY) -> list[tuple[int, PurePosixPath, str]]:
    """Returns the functions more complex than `limit`, most complex first; a nested one counts in its outermost."""
    functions = []
    for source in read:
        nodes: list[ast.AST] = [source.tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((complexity(node), source.path, node.name))
            else:
                nodes.extend(ast.iter_child_nodes(node))
    return sorted((entry for entry in functions if entry[0] > limit), key=lambda entry: (-entry[0], *entry[1:]))


def complex_to_ruff(root: Path, limit: int = COMPLEXITY) -> int:
    """Returns how many functions of the packages ruff finds more complex than `limit` (C901).

    Raises:
        subprocess.CalledProcessError: ruff is not installed or failed.
    """
    words = (sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--exit-zero", "--no-cache")
    options = ("--select", "C901", "--config", f"lint.mccabe.max-complexity={limit}", "--output-format", "json")
    packages = [package for package in PACKAGES if (root / package).is_dir()]
    ran = subprocess.run((*words, *options, *packages), cwd=root, capture_output=True, text=True, check=True)
    return len(json.loads(ran.stdout))
