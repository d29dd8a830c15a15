"""The only place where a command's outcome becomes a process exit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import typer

from mqctl.errors import ExitCode, MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import argv_of, composed, key_of, sentence, values_of

_SECRET_WORDS = ("secret", "password", "passwd", "token", "access-key", "accesskey")


@dataclass(frozen=True, slots=True)
class _Failure:
    code: ExitCode
    problem: str
    reason: str = ""
    remedy: str = ""


def run_guarded(arguments: Sequence[str], run: Callable[[Sequence[str]], object]) -> int:
    """Calls `run` with the command line and returns the exit code; a failure is told on stderr, never as a traceback.

    `run` returns the exit code of a judging command, anything else means success.
    `MQCTL_DEBUG=1` lets an unexpected exception through for whoever wants to mend it.
    """
    code: int = ExitCode.UNKNOWN if _judges(arguments) else ExitCode.OK
    try:
        result = run(arguments)
        code = int(result) if isinstance(result, int) else ExitCode.OK
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader went away (`| head`): point stdout at nothing so that the interpreter's last flush stays silent.
        # That is no failure; but a verdict that was not reached is unknown, never fine.
        _give_stdout_up()
        return code
    except (KeyboardInterrupt, typer.Abort):
        failure = _Failure(ExitCode.INTERRUPTED, sentence("common-interrupted", "interrupted"))
    except MqctlError as error:
        failure = _Failure(error.exit_code, error.problem, error.reason, error.remedy)
    except typer.TyperException as error:
        failure = _secret_option(error) or _Failure(ExitCode.USAGE, _of_parser(error), remedy=_usage_remedy(error))
    except OSError as error:
        what = (
            sentence("could-not-use", "could not use {path}", path=error.filename)
            if error.filename
            else sentence("cli-could-not-read-write", "could not read or write")
        )
        kind = ExitCode.PERMISSION if isinstance(error, PermissionError) else ExitCode.IO
        failure = _Failure(kind, what, error.strerror or str(error))
    except Exception as error:
        if os.environ.get("MQCTL_DEBUG"):
            raise
        kind_of_bug = f"{type(error).__name__}: {error}"
        problem = sentence("cli-bug", "mqctl has a bug: {error}", error=kind_of_bug)
        failure = _Failure(
            ExitCode.BUG,
            problem,
            remedy=sentence("cli-run-again-debug-report", "run it again with MQCTL_DEBUG=1 and report what it prints"),
        )
    try:
        sys.stdout.flush()
    except OSError:  # a full disk: the interpreter's last flush would end with 120
        _give_stdout_up()
    _tell(failure, as_json=_asks_for_json(arguments))
    return failure.code


def _give_stdout_up() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_parser(error: typer.TyperException) -> str:
    from mqctl.cli.usage_texts import of_parser

    return of_parser(_one_line(error.format_message()).rstrip("."))


def _one_line(message: str) -> str:
    """Puts the choices of an argument, which typer lists below one another, on one line."""
    return " ".join(message.split())


def _judges(arguments: Sequence[str]) -> bool:
    """Tells whether a command's exit code is a verdict."""
    return bool({"doctor", "check", "verify"} & set(arguments[:2]))


def _tell(failure: _Failure, *, as_json: bool) -> None:
    if as_json:
        from mqctl.render.machine import json_text

        body = {
            "schema": "error/1",
            "exit_code": int(failure.code),
            "problem": failure.problem,
            "reason": failure.reason,
            "remedy": failure.remedy,
            "key": key_of(failure.problem),
            "values": values_of(failure.problem),
            "reason_key": key_of(failure.reason),
            "reason_values": values_of(failure.reason),
            "remedy_key": key_of(failure.remedy),
            "remedy_values": values_of(failure.remedy),
            "remedy_argv": argv_of(failure.remedy),
        }
        sys.stderr.write(json_text(body, encoding=sys.stderr.encoding) + "\n")
        return
    from mqctl.text import printable  # names that brokers tell and damaged files hold may have line ends

    for line in _in_words(failure):
        sys.stderr.write(printable(line) + "\n")


def _in_words(failure: _Failure) -> list[str]:
    """Returns the failure in the language of the command line; English where the failure is that language's name."""
    from mqctl.cli.language import spoken

    lines = [composed("mqctl: {problem}", problem=failure.problem)]
    if failure.reason:
        lines = [composed("mqctl: {problem}: {reason}", problem=failure.problem, reason=failure.reason)]
    if failure.remedy:
        lines.append(sentence("remedy-line", "  next: {remedy}", remedy=failure.remedy))
    try:
        lang = spoken()
    except MqctlError:
        return lines
    if lang is None:
        return lines
    from mqctl.render import translation

    return [translation.spoken(line, lang) for line in lines]


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Reads the output format before parsing, because the parse itself may be what fails."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        output_format = following if word in ("-o", "--output") else word.removeprefix("--output=").removeprefix("-o")
        if output_format in ("json", "ndjson") and word.startswith("-"):
            return True
    return False


def _secret_option(error: typer.TyperException) -> _Failure | None:
    """Says why there is no such option when somebody tries to hand over a secret by one."""
    option = str(getattr(error, "option_name", ""))
    if not names_secret(option):
        return None
    return _Failure(
        ExitCode.USAGE,
        sentence("cli-no-option", "{option} is not an option: no option takes a secret", option=option),
        sentence(
            "cli-secret-known-there",
            "process lists and shell histories show options, so what was typed is known there now",
        ),
        sentence(
            "cli-secret-use-file",
            "use --acl-file FILE (mode 600), --keyring of a profile, or MQCTL_ACCESS_KEY and MQCTL_SECRET_KEY",
        ),
    )


def names_secret(option: str) -> bool:
    """Tells whether an option that there is not would have taken a secret: its value is repeated nowhere."""
    return any(word in option.lower() for word in _SECRET_WORDS)


def _usage_remedy(error: typer.TyperException) -> str:
    context, missing = getattr(error, "ctx", None), getattr(error, "param", None)
    # What is missing is an option with a value: to type it is the next thing to do, not to read about it.
    if missing is not None and "Missing" in type(error).__name__ and missing.param_type_name == "option":
        option = f"{min(missing.opts, key=len)} {missing.metavar or ''}".rstrip()
        return sentence("cli-add-missing-option", "add {option}", option=option)
    from mqctl.model.command_line import shell_words

    return shell_words([*(context.command_path if context is not None else "mqctl").split(), "--help"])
