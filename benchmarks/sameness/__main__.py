"""`python -m benchmarks.sameness`: see the package."""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import sameness
from benchmarks.sameness.compare import Difference, Rules, Verdict, judge, report, to_json
from benchmarks.sameness.live import find_ports
from benchmarks.sameness.running import (
    GOLDEN,
    HERE,
    REPOSITORY,
    Answer,
    Group,
    Runner,
    Table,
    Tree,
    commands_of,
    filled,
    read_table,
    unpack_inputs,
)

RULES = HERE / "sameness.toml"
CACHE = REPOSITORY / "build" / "sameness"
_MOST_KEPT = 20
_SEEDS = {"base": 1, "this": 2}


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True, text=True, check=False)


def resolve(commit: str) -> str:
    """Returns the full hash of a commit. Raises SystemExit: this clone does not have it."""
    parsed = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if parsed.returncode:
        raise SystemExit(
            f"sameness: commit {commit} is not in this clone; a shallow one gets it by: git fetch --unshallow --tags"
        )
    return parsed.stdout.strip()


@contextmanager
def checked_out(commit: str, place: Path) -> Iterator[Path]:
    """Checks a commit out in a work tree of its own, which is removed at the end."""
    made = _git("worktree", "add", "--detach", "--force", str(place), commit)
    if made.returncode:
        raise SystemExit(f"sameness: could not check out {commit}: {made.stderr.strip()}")
    try:
        yield place
    finally:
        _git("worktree", "remove", "--force", str(place))


class Comparison:
    """Both trees with the same inputs, homes and ports.

    Args:
        groups: the cases to run.
        work: an empty directory for inputs, homes and stores.
        warm: whether the process of a tree reads the help of all commands and runs the lines of `warm_up` beforehand.
    """

    def __init__(self, table: Table, groups: Sequence[Group], work: Path, *, warm: bool = True) -> None:
        self.table = table
        self.groups = _with_ports(groups)
        self.work = work
        self.warm = warm
        self.inputs = work / "inputs"
        self.commands: dict[str, list[str]] = {}
        unpack_inputs(self.inputs)

    def answers(self, root: Path, which: str, groups: Sequence[Group] | None = None) -> list[Answer]:
        """Runs cases in one tree."""
        homes = self.work / "homes"
        homes.mkdir(exist_ok=True)
        commands = self.commands[which] = commands_of(root)
        known = {"inputs": str(self.inputs)}
        warm_up = [shlex.split(filled(line, known)) for line in self.table.warm_up]
        warm_up += [[*command.split(), "--help"] for command in commands]
        with Tree(root, homes, hash_seed=_SEEDS[which], warm_up=warm_up if self.warm else ()) as tree:
            runner = Runner(tree, self.table, self.inputs, commands, self.table.renamed if which == "this" else {})
            return runner.run(self.groups if groups is None else groups)


def _with_ports(groups: Sequence[Group]) -> list[Group]:
    ports = iter(find_ports(sum(group.cluster is not None for group in groups), REPOSITORY))
    return [replace(group, port=next(ports)) if group.cluster is not None else group for group in groups]


def cache_file(commit: str, groups: Sequence[Group]) -> Path:
    """Returns where the answers of a commit are kept, by cases, inputs, ports and libraries."""
    digest = hashlib.sha256(f"{commit} {sys.version} {groups}".encode())
    inputs = [*(path for path in GOLDEN.rglob("*") if path.is_file()), HERE / "cases.yaml", HERE / "worlds.tar.xz"]
    runs = [HERE / name for name in ("running.py", "live.py", "server.py", "shim/sitecustomize.py")]
    for path in sorted([*runs, *inputs]):
        digest.update(path.read_bytes())
    for line in sorted(f"{it.metadata['Name']} {it.version}" for it in distributions()):
        digest.update(line.encode())
    return CACHE / f"{commit[:12]}-{digest.hexdigest()[:16]}.json.xz"


def _cached(file: Path) -> tuple[list[str], list[Answer]] | None:
    if not file.exists():
        return None
    document = json.loads(lzma.decompress(file.read_bytes()))
    return document["commands"], [Answer(**item) for item in document["answers"]]


def _keep(file: Path, commands: list[str], answers: Sequence[Answer]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {"commands": commands, "answers": [answer.__dict__ for answer in answers]}
    file.write_bytes(lzma.compress(json.dumps(document).encode(), preset=1))
    for old in sorted(file.parent.glob("*.json.xz"), key=lambda it: it.stat().st_mtime)[:-_MOST_KEPT]:
        old.unlink()


def without_case(table: Table, commands: Mapping[str, Sequence[str]], answers: Sequence[Answer]) -> list[str]:
    """Returns the commands of either tree that no line runs and that `without_case` does not excuse, and the excuses
    that no command needs."""
    covering = {group.name for group in table.groups if group.covers}
    run = {answer.command for answer in answers if answer.group in covering}
    known = {name for names in commands.values() for name in names}
    missing = [f"no case for: {name}" for name in sorted(known - run - table.without_case.keys())]
    excused = [f"without_case names {name}, which has a case" for name in sorted(table.without_case.keys() & run)]
    return missing + excused + [f"without_case names {name}: no command" for name in table.without_case.keys() - known]


def main(words: Sequence[str]) -> int:
    """Compares, prints what differs, and returns 1 where something differs that is not allowed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sameness", description=sameness.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--base", help="commit to compare with, instead of the one that sameness.toml names")
    parser.add_argument("--tree", type=Path, default=REPOSITORY, help="the other tree; this one unless given")
    parser.add_argument("--group", default="*", help="only groups of cases like this: 'store*'")
    parser.add_argument("--only", default="*", help="only lines like this: 'group *'")
    parser.add_argument("--no-cache", action="store_true", help="run the base although its answers are kept")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write what this tree answered there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all differences there")
    given = parser.parse_args(words)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # work trees and directories go at the end
    rules, table = Rules.read(RULES), read_table()
    commit = resolve(given.base or rules.base)
    groups = chosen(table, given.group, given.only)
    with TemporaryDirectory(prefix="sameness-") as temporary:
        comparison = Comparison(table, groups, Path(temporary))
        file = cache_file(commit, comparison.groups)
        kept = None if given.no_cache else _cached(file)
        with checked_out(commit, Path(temporary) / "base") as root:
            if kept is None:
                old = comparison.answers(root, "base")
                _keep(file, comparison.commands["base"], old)
            else:
                comparison.commands["base"], old = kept
            new = comparison.answers(given.tree.resolve(), "this")
            verdict = judge(rules, old, new)
            once = _again(comparison, rules, verdict, root, given.tree.resolve())
    if given.answers:
        given.answers.write_text(
            json.dumps([it.__dict__ for it in new], ensure_ascii=False, indent=1), encoding="utf-8"
        )
    if given.json:
        _write(given.json, to_json(verdict.open))
    whole = given.group == given.only == "*"
    problems = verdict.unlike + (without_case(table, comparison.commands, new) if whole else [])
    problems += [
        f"allows nothing any more: {entry.label}" for entry, count in verdict.allowed.items() if whole and not count
    ]
    unstable = (f"UNSTABLE, differed once and not again: {line}" for line in report(once))
    for line in (*report(verdict.open), *problems, *unstable):
        print(line)
    lines, commands = {answer.key[:2] for answer in new}, {answer.command for answer in new}
    used = sum(bool(count) for count in verdict.allowed.values())
    print(
        f"this tree against {commit[:8]}{' (kept)' if kept else ''}: {verdict.compared} answers compared, to "
        f"{len(lines)} lines of {len(commands)} commands in {len(groups)} groups\n"
        f"{len(verdict.open)} unexpected differences, {sum(verdict.allowed.values())} allowed by {used} of "
        f"{len(verdict.allowed)} entries, {verdict.volatile} of values that no two runs have alike, "
        f"{len(once)} that did not occur again; {time.monotonic() - began:.0f} s, {_cpu_s():.0f} s of CPU"
    )
    return 1 if verdict.open or problems else 0


def _write(file: Path, values: object) -> None:
    file.write_text(json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8")


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def chosen(table: Table, group: str, only: str) -> list[Group]:
    """Returns the groups that are like `group`, with the lines that are like `only`; directions stay."""
    picked = [
        replace(it, lines=tuple(line for line in it.lines if line[0] == "!" or fnmatchcase(line, only)))
        for it in table.groups
        if fnmatchcase(it.name, group)
    ]
    return [it for it in picked if any(line[0] != "!" for line in it.lines)]


def _again(comparison: Comparison, rules: Rules, verdict: Verdict, base: Path, tree: Path) -> list[Difference]:
    """Runs the groups that differ once more in both trees, and takes what did not differ again out of the verdict.

    Returns:
        those, to be looked at: something in them depends on chance.
    """
    names = {difference.answer.group for difference in verdict.open}
    groups = [group for group in comparison.groups if group.name in names]
    if not groups:
        return []
    second = judge(rules, comparison.answers(base, "base", groups), comparison.answers(tree, "this", groups))
    keys = {difference.key for difference in second.open}
    once = [difference for difference in verdict.open if difference.key not in keys]
    verdict.open = [difference for difference in verdict.open if difference.key in keys]
    return once


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
