"""Holds the subjects of commits to 72 characters: longer ones are cut by `git log` and by web pages.

Usage: python .ci/subject.py FILE           the message in FILE, which git gives to a commit-msg hook
       python .ci/subject.py --since REV    every commit after REV; of a shallow clone without REV all that it has
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
_AUTOSQUASH = re.compile(r"^(?:(?:fixup|squash|amend)! )+")


def main(words: list[str]) -> int:
    """Returns 1 if a subject is too long, 2 if the arguments or the revision are wrong."""
    match words:
        case ["--since", revision]:
            return _since(revision)
        case [file] if not file.startswith("-"):
            return _report([("this commit", subject_of(Path(file).read_text(encoding="utf-8")))])
    sys.stderr.write(__doc__ or "")
    return 2


def subject_of(message: str) -> str:
    """Returns the subject of a message that is being written: its first paragraph on one line, as git shows it."""
    return " ".join(_git("stripspace", "--strip-comments", given=message).partition("\n\n")[0].split())


def _since(revision: str) -> int:
    command = ["git", "rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}"]
    is_known = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not is_known and _git("rev-parse", "--is-shallow-repository").strip() != "true":
        sys.stderr.write(f"there is no commit {revision} in this repository\n")
        return 2
    commits = _git("log", "--no-merges", "--format=%h %s", f"{revision}..HEAD" if is_known else "HEAD")
    return _report([(name, subject) for name, _, subject in (line.partition(" ") for line in commits.splitlines())])


def _git(*words: str, given: str = "") -> str:
    return subprocess.run(["git", *words], input=given, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def _report(commits: list[tuple[str, str]]) -> int:
    lengths = [(name, len(_AUTOSQUASH.sub("", subject))) for name, subject in commits]
    too_long = [(name, length) for name, length in lengths if length > LONGEST]
    for name, length in too_long:
        sys.stderr.write(
            f"{name}: its subject has {length} characters; {LONGEST} are allowed, the rest is the body's\n"
        )
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
