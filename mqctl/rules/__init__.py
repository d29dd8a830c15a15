"""Rules: pure functions from a snapshot to findings, in one file a theme of each family (`mq4/offsets.py`).

`mq1` ... `mq7` hold rules and nothing else; what serves all is in `engine`. Commands that judge nothing use what
is not a rule, so the package imports no rule: `diagnose` and `RULES` import all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqctl.model.thresholds import Settings
    from mqctl.rules.engine.judging import Diagnosis, diagnose
    from mqctl.rules.engine.registry import RULES
    from mqctl.rules.engine.rule import Rule

__all__ = ["RULES", "Diagnosis", "Rule", "Settings", "diagnose"]

_HOMES = {
    "RULES": "mqctl.rules.engine.registry",
    "Diagnosis": "mqctl.rules.engine.judging",
    "Rule": "mqctl.rules.engine.rule",
    "Settings": "mqctl.model.thresholds",
    "diagnose": "mqctl.rules.engine.judging",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(home), name)
