"""Passwords of users of brokers: from a file of their owner, standard input, or typed unseen; never from the words."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from mqctl.errors import ConfigurationError, PermissionDeniedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.store.plain_files import refused
from mqctl.text import sentence

_LONGEST = 4_096


def password_given(file: Path | None, *, ask: bool) -> str | None:
    """Returns the password; None when neither a file is named nor it is to be asked for.

    Raises:
        UsageError: it is to be asked for, and there is no terminal.
        ConfigurationError: the file cannot be used, or is empty.
        PermissionDeniedError: others than its owner may read it, or we may not.
    """
    if file is not None:
        text = sys.stdin.readline(_LONGEST) if str(file) == "-" else _first_line(file)
        if not text.strip():
            raise ConfigurationError(
                sentence("cli-no-password", "there is no password"),
                reason=sentence("cli-first-line-empty", "the first line of {file} is empty", file=file),
            )
        return text.rstrip("\r\n")
    if not ask:
        return None
    if not sys.stdin.isatty():
        raise UsageError(
            sentence("cli-no-terminal-ask-password", "no terminal to ask for the password on"),
            remedy=sentence("cli-password-file-standard", "--password-file FILE; or - for standard input"),
        )
    from getpass import getpass

    first, again = getpass("New password: "), getpass("Again: ")
    if not first or first != again:
        raise UsageError(
            sentence("cli-no-new-password", "that is not a new password"),
            reason=sentence("empty-two-entries-differ", "it is empty, or the two entries differ"),
        )
    return first


def _first_line(file: Path) -> str:
    problem = sentence("cli-could-not-take-password", "could not take a password from {file}", file=file)
    try:
        with file.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            line = stream.readline(_LONGEST)
    except PermissionError as error:
        raise refused(problem, error) from error
    except OSError as error:
        raise ConfigurationError(
            problem, reason=error.strerror or str(error), remedy=sentence("cli-give-file", "give the file")
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PermissionDeniedError(
            problem,
            reason=sentence(
                "cli-other-users-read-mode", "other users may read it (mode {s_imode:o})", s_imode=stat.S_IMODE(mode)
            ),
            remedy=command_line("chmod 600 {}", file),
        )
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(
            problem,
            reason=sentence("cli-not-utf-text", "it is not UTF-8 text"),
            remedy=sentence("cli-write-line", "write it as one line"),
        ) from None
