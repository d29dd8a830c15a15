"""The file of known states: a YAML list, checked in beside a team's runbooks."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec

from mqctl.errors import ConfigurationError, NotFoundError
from mqctl.protocol.yaml_text import UnreadableYaml, decode_yaml
from mqctl.rules.engine.known import KnownState
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    reason: str
    until: date
    subject: str = "*"


def load_known(file: Path) -> tuple[KnownState, ...]:
    """Reads the file.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError, StorageError: it cannot be read.
        ConfigurationError: it is no list of `code`, `reason`, `until` and perhaps `subject`.
    """
    try:
        text = read_named(file)
    except FileNotFoundError as error:
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("check-leave-known-out-write", "leave --known out, or write it"),
        ) from error
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    try:
        entries = decode_yaml(text, list[_Entry]) if text.strip() else []
    except UnreadableYaml as error:
        remedy = sentence(
            "checks-write-known-states",
            "write a list of `code: MQ606`, `subject: orders`, `reason: ...`, `until: 2027-01-31`",
        )
        raise ConfigurationError(
            sentence("could-not-read", "could not read {file}", file=file), reason=str(error), remedy=remedy
        ) from error
    return tuple(
        KnownState(code=item.code, reason=item.reason, until=item.until, subject=item.subject) for item in entries
    )
