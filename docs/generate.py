"""Writes every generated file, or with `--check` tells which of the committed ones are out of date.

Committed: completions, scripts of playbooks, pages of which a part is computed, and docs/schemas.json, the contract of
the machine forms. Built: the references of commands, rules and machine forms and the man pages, below build/, and the
table of options behind the Tab. Run it from the repository's root: `python docs/generate.py [--check]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs import built, reference  # noqa: E402 - the checkout goes before an installed copy
from mqctl.cli import catalog_options  # noqa: E402


def main(arguments: list[str]) -> int:
    """Writes all files, or checks the committed ones; returns 1 when `--check` finds one that differs."""
    check = arguments == ["--check"]
    files = reference.files()
    if not check:
        catalog_options.table()
        files |= {f"build/{name}": text for name, text in built.files().items()}
    stale = []
    for name, text in files.items():
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
