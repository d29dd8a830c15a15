"""Counts in the history: rooms of a commit, files of a commit that brought a rule, long subjects."""

from __future__ import annotations

import re
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchmarks.measures.sources import room_of

SUBJECT = 72
LAYERS = frozenset(
    {"mqctl/commands", "mqctl/changes", "mqctl/operations", "mqctl/render", "mqctl/diagnosis", "mqctl/rules"}
)
"""One feature lies in several of these."""
_DECLARED = re.compile(r'^\+(?:\s*|@(?:cluster_)?rule\()"(MQ\d{3})",$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that is no merge, and the files it touched."""

    subject: str
    files: tuple[PurePosixPath, ...]

    @property
    def rooms(self) -> frozenset[str]:
        """The rooms of its files."""
        return frozenset(room_of(file) for file in self.files)


def _log(root: Path, *words: str) -> list[str]:
    command = ("git", "-C", str(root), "-c", "core.quotepath=off", "log", "--no-merges", *words)
    ran = subprocess.run(command, capture_output=True, text=True, check=True, errors="replace")
    return ran.stdout.split("\0")[1:]


def last_commits(root: Path, count: int) -> list[Commit]:
    """Returns the last `count` commits below HEAD, newest first; fewer where the clone has fewer."""
    commits = []
    for entry in _log(root, f"-n{count}", "--format=%x00%s", "--name-only"):
        subject, *files = [line for line in entry.split("\n") if line]
        commits.append(Commit(subject, tuple(map(PurePosixPath, files))))
    return commits


def rooms(commits: list[Commit]) -> dict[str, float]:
    """Returns how many rooms a commit touches, and how many commits touch one or more than one of the layers."""
    touched = [len(commit.rooms) for commit in commits if commit.files]
    layers = [count for commit in commits if (count := len(commit.rooms & LAYERS))]
    return {
        "commits": len(touched),
        "rooms of a commit, median": statistics.median(touched) if touched else 0,
        "commits that touch commands, operations, render or rules": len(layers),
        "of these two or more of them": sum(count > 1 for count in layers),
    }


def subjects(commits: list[Commit]) -> int:
    """Returns how many subjects are longer than 72 characters."""
    return sum(len(commit.subject) > SUBJECT for commit in commits)


def rule_commits(root: Path, count: int) -> dict[str, float]:
    """Returns the median files of the last `count` commits that declared a rule under a new code.

    A commit without parents, where the history or a shallow clone begins, declares nothing new.
    """
    entries = _log(root, "--reverse", "-M", "-U0", "-p", r"-GMQ[0-9]{3}", "--format=%x00%H %P", "--", *_RULE_ROOMS)
    seen: set[str] = set()
    new = []
    for entry in entries:
        head, _, changes = entry.partition("\n")
        revision, *parents = head.split()
        codes = set(_DECLARED.findall(changes)) - seen
        seen |= codes
        if codes and parents:
            new.append(revision)
    if not new:
        return {"commits with a new rule": 0}
    every = []
    product = []
    for entry in _log(root, "--no-walk=unsorted", "--format=%x00", "--name-only", *new[-count:]):
        files = [line for line in entry.split("\n") if line]
        every.append(len(files))
        product.append(sum(file.split("/")[0] in _PRODUCT for file in files))
    return {
        "commits with a new rule": len(every),
        "files of such a commit, median": statistics.median(every),
        "of these outside tests and docs": statistics.median(product),
    }


_RULE_ROOMS = ("mqctl/diagnosis", "mqctl/rules")
_PRODUCT = frozenset({"mqctl", "embedded_broker", "playbooks"})
