"""Sentences in JSON, where there are several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import key_of, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence with its key and its values; both are None for what somebody else said."""

    text: str
    key: str | None
    values: dict[str, Any] | None


def said(texts: Iterable[str]) -> list[Said]:
    """Returns sentences as JSON has them."""
    return [Said(text=text, key=key_of(text), values=values_of(text)) for text in texts]
