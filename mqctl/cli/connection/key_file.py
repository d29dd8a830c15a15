"""The file with an account's keys: `accessKey: ...` and `secretKey: ...`, as Java's tools.yml, or with `=`.

It is read line by line, so that what is told about a file that cannot be used never shows a piece of it.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from mqctl.errors import ConfigurationError, PermissionDeniedError
from mqctl.model.command_line import command_line
from mqctl.protocol.acl import Credentials
from mqctl.store.plain_files import refused
from mqctl.text import sentence

_LONGEST_BYTES = 64 * 1024
_ENTRY = re.compile(r"\s*['\"]?(accessKey|secretKey|securityToken)['\"]?\s*[:=](.*)")
_FORM = sentence("key-file-form", "write two lines, `accessKey: KEY` and `secretKey: SECRET`")


def credentials_from_file(path: Path) -> Credentials:
    """Reads the keys of one account; other entries of the file are passed over.

    Raises:
        ConfigurationError: the file is not there, no text, or lacks a key.
        PermissionDeniedError: others than its owner may read it, or we may not.
    """
    problem = sentence("cli-could-not-take-keys", "could not take keys from {path}", path=path)
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            content = stream.read(_LONGEST_BYTES)
    except PermissionError as error:
        raise refused(problem, error) from error
    except OSError as error:
        raise ConfigurationError(
            problem,
            reason=error.strerror or str(error),
            remedy=sentence("cli-name-file", "name the file that has them"),
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PermissionDeniedError(
            problem,
            reason=sentence(
                "cli-other-users-read-mode", "other users may read it (mode {s_imode:o})", s_imode=stat.S_IMODE(mode)
            ),
            remedy=command_line("chmod 600 {}", path),
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(
            problem, reason=sentence("cli-not-utf-text", "it is not UTF-8 text"), remedy=_FORM
        ) from None
    entries = [entry for line in text.splitlines() if (entry := _ENTRY.fullmatch(line))]
    values = {entry[1]: _value(entry[2]) for entry in entries}
    if not values.get("accessKey") or not values.get("secretKey"):
        missing = [name for name in ("accessKey", "secretKey") if not values.get(name)]
        raise ConfigurationError(
            problem, reason=sentence("cli-lacks", "it lacks {missing:and}", missing=missing), remedy=_FORM
        )
    if len(entries) > len(values):
        raise ConfigurationError(
            problem,
            reason=sentence("cli-keys-several-accounts", "it has keys of several accounts"),
            remedy=sentence("cli-keep-those", "keep those of one"),
        )
    return Credentials(values["accessKey"], values["secretKey"], values.get("securityToken"))


def _value(text: str) -> str:
    """Returns a value without its quotes, and without the comment behind it, as YAML has them."""
    text = text.strip()
    if text[:1] in {"'", '"'}:
        value, closed, _ = text[1:].partition(text[0])
        if closed:
            return value
    return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0]
