"""Entry point. The version and a static Tab are answered before typer is imported."""

from __future__ import annotations

import atexit
import gc
import os
import sys


def _prepare_streams() -> None:
    """What an encoding lacks (LANG=C, bytes of a path that are no UTF-8) is shown escaped, and a closed stream swallows
    what is written: neither may end a command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _answer_with(text: str) -> int:
    """Writes an answer for which nothing but this module was imported."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0
    except OSError as error:
        trouble = error
    from mqctl.cli.exit import run_guarded

    def fail(_words: object) -> None:
        raise trouble

    return run_guarded(sys.argv[1:], fail)


def run() -> int:
    """Runs mqctl with the process's arguments and returns the exit code."""
    # OpenBLAS, which comes with numpy, makes a thread a core, and these spin a while for want of work: a third of the
    # CPU of a short command on two cores. Nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # what imports make lasts: collecting it costs a tenth of a short command; a command runs with it
    try:
        code = _run(sys.argv[1:])
    finally:
        gc.freeze()  # nor is there anything to collect before the process ends
    _leave_threads(code)
    return code


def _leave_threads(code: int) -> None:
    """Ends the process here if threads that no command waits for may still be at work.

    The interpreter's own end stops each at its next step in Python; where C++ called that step, the process aborts with
    134 instead of `code`: a worker of pyarrow's pool does when it frees a buffer late (pyarrow 26, one end in fifteen).
    """
    threads = sys.modules["threading"].enumerate()[1:] if "threading" in sys.modules else []
    if not all(each.daemon for each in threads) or not (threads or "pyarrow" in sys.modules):
        return
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # its reader went away
            continue
    os._exit(code)


def _run(arguments: list[str]) -> int:
    _prepare_streams()
    if arguments in (["--version"], ["-V"]):
        from mqctl import __version__

        return _answer_with(f"mqctl {__version__}\n")
    if arguments[:1] == ["__complete"]:
        from mqctl.cli.completion.answer import completions_for

        return _answer_with(completions_for(arguments[1:]))
    if arguments == ["__options"]:
        from mqctl.cli.catalog import BY_PATH
        from mqctl.cli.option_table import option_table
        from mqctl.main import load_command

        return _answer_with(option_table(BY_PATH, load_command))
    if arguments[:1] == ["--version"]:
        from mqctl.cli.exit import run_guarded
        from mqctl.cli.version import tell_version

        return run_guarded(arguments, tell_version)
    from mqctl.cli.connection.credentials import hold_secrets
    from mqctl.cli.exit import run_guarded

    hold_secrets()
    if arguments[:1] == ["__names"] and len(arguments) > 1:
        from pathlib import Path

        from mqctl.cli.completion.name_cache import refresh

        return run_guarded(arguments, lambda words: refresh(Path(words[1]), list(words[2:])))
    from mqctl.main import main

    return run_guarded(arguments, main)


if __name__ == "__main__":
    sys.exit(run())
