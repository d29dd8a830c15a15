"""Entry point. The version and a static Tab are answered before typer is imported."""

from __future__ import annotations

import sys


def run() -> int:
    """Runs mqctl with the process's arguments and returns the exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from mqctl import __version__

        sys.stdout.write(f"mqctl {__version__}\n")
        return 0
    if arguments[:1] == ["__complete"]:
        from mqctl.cli.complete import answer

        sys.stdout.write(answer(arguments[1:]))
        return 0
    from mqctl.cli.exit import run_guarded

    if arguments[:1] == ["__names"] and len(arguments) > 1:
        from pathlib import Path

        from mqctl.cli.name_cache import refresh

        return run_guarded(arguments, lambda words: refresh(Path(words[1]), list(words[2:])))
    from mqctl.main import main

    return run_guarded(arguments, main)


if __name__ == "__main__":
    sys.exit(run())
