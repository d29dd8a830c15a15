"""How a command is told rooms: by option, or by the profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.allocation.rooms import room_rule
from mqctl.errors import ConfigurationError, UsageError
from mqctl.model.room_rule import RoomRule
from mqctl.store.plain_files import read_named
from mqctl.text import sentence

RoomRuleOption = Annotated[
    str | None,
    typer.Option(
        "--room-rule",
        metavar="RULE",
        help="How names of brokers and clients show their machine room: prefix:-, prefix:@, regex:PATTERN, map:FILE.",
    ),
]


def rule_of(text: str | None, profile: str | None = None) -> RoomRule | None:
    """Reads the rule that was given, or the profile's; None without any.

    Raises:
        UsageError: it cannot be read.
    """
    if text is None:
        text = _from_profile(profile)
    if text is None:
        return None
    kind, _, file = text.partition(":")
    return room_rule("map", _mapping(Path(file))) if kind == "map" and file else room_rule(text)


def _from_profile(name: str | None) -> str | None:
    from mqctl.cli.places import config_dir

    try:
        directory = config_dir()
    except ConfigurationError:
        if name is not None:
            raise
        return None  # without a place for profiles there are none
    if not (directory / "profiles.yaml").exists():
        return None
    from mqctl.cli.connection.profiles import load_profiles

    profiles = load_profiles(directory)
    chosen = name or profiles.current
    return profiles.get(chosen).room_rule if chosen else None


def _mapping(file: Path) -> dict[str, str]:
    """Reads `name: room` lines of a YAML file."""
    from mqctl.protocol.yaml_text import UnreadableYaml, decode_yaml

    try:
        return decode_yaml(read_named(file), dict[str, str])
    except (OSError, UnreadableYaml) as error:
        raise UsageError(
            sentence("cli-cannot-read-rooms", "cannot read rooms from {file}", file=file),
            reason=str(error),
            remedy=sentence("cli-write-name-room-line", "write one `name: room` a line"),
        ) from error
