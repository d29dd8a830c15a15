"""The exception tree of mqctl and the exit code of each branch.

An error says what was tried on what (`problem`), why it failed (`reason`) and what to do next (`remedy`).
Only `mqctl.cli.exit` turns one into a process exit.
"""

from __future__ import annotations

from enum import IntEnum

from mqctl.text import sentence


class ExitCode(IntEnum):
    """Exit codes of every mqctl command.

    Judging commands (`doctor`, `check`, `verify`) end with the first four; the rest is common to all commands.
    """

    OK = 0
    WARNING = 1
    ERROR = 2
    UNKNOWN = 3
    USAGE = 64
    BAD_INPUT = 65
    NOT_FOUND = 66
    UNREACHABLE = 69
    BUG = 70
    IO = 74
    TIMEOUT = 75
    REFUSED = 76
    PERMISSION = 77
    CONFIG = 78
    INTERRUPTED = 130


class MqctlError(Exception):
    """Root of every expected failure.

    Args:
        problem: what was tried on what, as one sentence without a final full stop.
        reason: why it failed.
        remedy: the next thing to do.

    Each is a text of ours (`mqctl.text`), or word for word what somebody else said.
    """

    exit_code = ExitCode.BUG

    def __init__(self, problem: str, *, reason: str = "", remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        if not self.reason:
            return self.problem
        return sentence("errors-problem", "{problem}: {reason}", problem=self.problem, reason=self.reason)

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes (Spark workers): keep all three parts."""
        return _rebuild, (type(self), self.problem, self.reason, self.remedy)


def _rebuild(kind: type[MqctlError], problem: str, reason: str, remedy: str) -> MqctlError:
    return kind(problem, reason=reason, remedy=remedy)


class UsageError(MqctlError):
    """The command line asks for something impossible."""

    exit_code = ExitCode.USAGE


class BadInputError(MqctlError):
    """Input that allows no answer at all: a directory that is no store, a broken plan."""

    exit_code = ExitCode.BAD_INPUT


class NotFoundError(MqctlError):
    """No such topic, group, broker, message or file."""

    exit_code = ExitCode.NOT_FOUND


class UnreachableError(MqctlError):
    """Nobody answered at an address."""

    exit_code = ExitCode.UNREACHABLE


class StorageError(MqctlError):
    """The operating system refused to read or write."""

    exit_code = ExitCode.IO


class DeadlineError(MqctlError):
    """No answer within the deadline."""

    exit_code = ExitCode.TIMEOUT


class NotAskedError(DeadlineError):
    """A request that was not sent, since the time it had was over already."""


class RefusedError(MqctlError):
    """The broker said no, or the state makes the request impossible."""

    exit_code = ExitCode.REFUSED


class UnsupportedError(RefusedError):
    """The other side does not know the request: it is another version."""


class PermissionDeniedError(MqctlError):
    """Access control, file permissions or ptrace scope are in the way."""

    exit_code = ExitCode.PERMISSION


class ConfigurationError(MqctlError):
    """A profile, setting or environment that cannot be used (no Java for Spark, for instance)."""

    exit_code = ExitCode.CONFIG
