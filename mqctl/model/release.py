"""Releases of RocketMQ, and the newest one that mqctl was tried on."""

from __future__ import annotations

import re
from typing import TypeAlias

from mqctl.model.numbers import decimal

Release: TypeAlias = tuple[int, int, int]

NEWEST: Release = (5, 5, 0)
"""The newest release on which rules, requests and changes were tried, unless they declare another one."""

# As brokers name theirs (MQVersion.getVersionDesc, 4.9.8 and 5.5.0): V5_1_4, V4_0_0_SNAPSHOT, V3_1_8_1.
_NAMED = re.compile(r"V(\d{1,4})_(\d{1,4})_(\d{1,4})(?:_\w{1,32})?", re.ASCII)


def release_of(version: str) -> Release | None:
    """Returns the release that a broker names; None where no release of RocketMQ is named so."""
    matched = _NAMED.fullmatch(version)
    if matched is None:
        return None
    major, minor, patch = (decimal(part) for part in matched.groups())
    return None if major is None or minor is None or patch is None else (major, minor, patch)


def release_text(release: Release) -> str:
    """Returns a release as its documentation writes it: `5.5.0`."""
    return ".".join(map(str, release))
