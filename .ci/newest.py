"""Prints for every dependency the version in requirements.lock, the newest that pyproject.toml allows, and the newest
there is.

What is allowed is what pip would install into an empty environment, for this Python and system, with all extras; pip
works that out and installs nothing. Dependencies of dependencies are there too, and hold each other back as well.

Usage: python .ci/newest.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
_AT_ONCE = 4


def pip(*words: str) -> str:
    """Runs pip and returns what it prints, without its warnings."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def locked() -> dict[str, str]:
    """Returns the locked versions for this Python and system, by name."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = [Requirement(pin) for pin in re.findall(r"^(\w[^\\\n]+)", text, re.MULTILINE)]
    return {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin in pins
        if pin.marker is None or pin.marker.evaluate()
    }


def allowed() -> dict[str, str]:
    """Returns the newest versions that go together and that pyproject.toml allows, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ",".join(project["optional-dependencies"])
    report = json.loads(pip("install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-", f".[{extras}]"))
    found: dict[str, str] = {
        canonicalize_name(item["metadata"]["name"]): item["metadata"]["version"] for item in report["install"]
    }
    del found[project["name"]]
    return found


def newest(name: str, version: str) -> str:
    """Returns the newest release that has a file for this Python and system; no preview unless `version` is one."""
    previews = ["--pre"] * Version(version).is_prerelease
    said = re.match(r"\S+ \((\S+)\)", pip("index", "versions", *previews, name))
    return said[1] if said else "?"


def main() -> None:
    """Prints the table."""
    old, fresh = locked(), dict(sorted(allowed().items()))
    names = list(fresh)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        latest = dict(zip(names, pool.map(newest, names, fresh.values()), strict=True))
    width = max(map(len, names))
    sys.stdout.write(f"{'':{width}}  {'locked':14} {'allowed':14} {'newest':14}\n")
    for name in names:
        pin = old.get(name, "-")
        notes = ["the lock is older"] * (pin != fresh[name]) + ["held back"] * (fresh[name] != latest[name])
        line = f"{name:{width}}  {pin:14} {fresh[name]:14} {latest[name]:14} {', '.join(notes)}"
        sys.stdout.write(f"{line.rstrip()}\n")
    behind = sum(old.get(name) != fresh[name] for name in names)
    held = sum(fresh[name] != latest[name] for name in names)
    sys.stdout.write(f"{len(names)} packages: the lock is older for {behind}, {held} are held back\n")


if __name__ == "__main__":
    main()
