"""How message bodies are shown."""

from __future__ import annotations

from enum import StrEnum


class BodyForm(StrEnum):
    """Forms of `--body`."""

    TEXT = "text"
    JSON = "json"
    HEX = "hex"
    NONE = "none"
