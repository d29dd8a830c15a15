"""The text of `docs/dependencies.md`: every dependency with its reason, read from the comments of `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_HEAD = """# Dependencies

Generated from the comments of `pyproject.toml` by `docs/generate.py`. Tests hold that each has a reason and a licence
that allows its use beside Apache-2.0, and that `requirements.lock` pins all of them, and what they need in turn, by
version and hash. `.ci/run` tests with the newest versions that `pyproject.toml` allows, as a new clone gets them, and
runs a part of the tests with the locked ones; where the lock cannot be installed it says so (CI_LOCKED=require: fails).
`.ci/lock` writes the lock, `.ci/newest.py` compares it with the newest versions.

Nothing is imported that a command does not need: see [what start-up may cost](figures.md).
"""
_SECTIONS = {
    "": "Always installed",
    "spark": "Extra `spark`: reports",
    "redis": "Extra `redis`: shared states of idempotent consumption",
    "rocksdb": "Extra `rocksdb`: stores of 5.x in RocksDB",
    "grpc": "Extra `grpc`: the gRPC endpoint of the embedded broker",
    "record": "Extra `record`: the recorder and what reads its files",
    "screen": "Extra `screen`: `top` to walk through",
    "bench": "Extra `bench`: histograms of `bench`",
    "keyring": "Extra `keyring`: keys from the system's keyring",
    "dev": "Extra `dev`: tests and checks, never installed for users",
    "interop": "Extra `interop`: clients, servers and a browser of others that tests use",
    "site": "Extra `site`: the documentation site",
}


class Dependency(NamedTuple):
    """One requirement.

    Attributes:
        extra: name of the extra, empty for what is always installed.
        reason: the comment above it, or above the first of its neighbours that share one.
    """

    extra: str
    requirement: str
    reason: str


def dependencies(text: str) -> Iterator[Dependency]:
    """Reads the lists of requirements in a `pyproject.toml`, comments included."""
    known = {"", *tomllib.loads(text)["project"]["optional-dependencies"]}
    extra: str | None = None
    comments: list[str] = []
    reason = ""
    for raw in text.splitlines():
        line = raw.strip()
        opened = re.fullmatch(r"([\w-]+) = \[", line)
        if opened is not None:
            extra = "" if opened[1] == "dependencies" else opened[1]
            comments, reason = [], ""
        elif line == "]":
            extra = None
        elif extra in known and line.startswith("#"):
            comments.append(line.removeprefix("#").strip())
        elif extra is not None and extra in known:
            found = re.fullmatch(r'"(.+)",', line)
            if found is not None:
                reason, comments = " ".join(comments) or reason, []
                yield Dependency(extra, found[1], reason)


def page() -> str:
    """Returns the whole text."""
    listed = list(dependencies((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    parts = [_HEAD]
    for extra in dict.fromkeys(item.extra for item in listed):
        title = _SECTIONS.get(extra, f"Extra `{extra}`")
        rows = [f"| `{item.requirement}` | {item.reason} |\n" for item in listed if item.extra == extra]
        parts.append(f"\n## {title}\n\n| requirement | why |\n|---|---|\n{''.join(rows)}")
    return "".join(parts)
