"""Rules: pure functions from a snapshot to findings.

Importing the package registers every rule.
"""

from mqctl.diagnosis import delay, offsets, routes, storage, subscriptions, transactions
from mqctl.diagnosis.registry import RULES as _REGISTERED
from mqctl.diagnosis.registry import Diagnosis, Rule, diagnose
from mqctl.diagnosis.settings import Settings

RULES = dict(sorted(_REGISTERED.items()))
"""Every rule by code, in order."""

__all__ = [
    "RULES",
    "Diagnosis",
    "Rule",
    "Settings",
    "delay",
    "diagnose",
    "offsets",
    "routes",
    "storage",
    "subscriptions",
    "transactions",
]
