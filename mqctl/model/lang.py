"""Languages of the message catalogue."""

from __future__ import annotations

from enum import StrEnum


class Lang(StrEnum):
    """Languages of the catalogue."""

    EN = "en"
    ZH = "zh"
