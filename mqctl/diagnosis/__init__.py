"""Rules: pure functions from a snapshot to findings, in one file a subject of each family (`mq4_offsets`).

Commands that judge nothing use what is not a rule, so the package imports no rule: `diagnose` and `RULES` import all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqctl.diagnosis.judging import Diagnosis, diagnose
    from mqctl.diagnosis.registry import RULES
    from mqctl.diagnosis.rule import Rule
    from mqctl.diagnosis.settings import Settings

__all__ = ["RULES", "Diagnosis", "Rule", "Settings", "diagnose"]

_HOMES = {"RULES": "registry", "Diagnosis": "judging", "Rule": "rule", "Settings": "settings", "diagnose": "judging"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
