"""What reading YAML that people wrote may raise."""

from __future__ import annotations

import msgspec

# PyYAML lets what its constructors stumble over through: `2026-99-99` is a ValueError, `!!bool x` a KeyError,
# `!!int ''` an IndexError, `!!timestamp x` an AttributeError, a moment before the year 1 an OverflowError.
UNREADABLE_YAML = (
    msgspec.DecodeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
)
