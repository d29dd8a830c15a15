"""Writes every generated file of the repository, or with `--check` tells which are out of date.

Generated: the catalog of options behind the static Tab, the completion scripts, and the references in docs/.
Run it from the repository's root: `python docs/generate.py [--check]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs import reference  # noqa: E402 - the checkout goes before an installed copy


def main(arguments: list[str]) -> int:
    """Writes or checks all files; returns 1 when `--check` finds one that differs."""
    check = arguments == ["--check"]
    stale = []
    for name, text in reference.files().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if path.suffix == ".sh":
                path.chmod(0o755)
    verb = "out of date" if check else "written"
    sys.stdout.write("".join(f"{verb}: {name}\n" for name in stale) or "generated files are up to date\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
