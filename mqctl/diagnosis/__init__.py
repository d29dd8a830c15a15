"""Rules: pure functions from a snapshot to findings.

Importing the package registers every rule.
"""

from mqctl.diagnosis import delay, offsets, routes, storage, transactions
from mqctl.diagnosis.registry import RULES, Diagnosis, Rule, diagnose
from mqctl.diagnosis.settings import Settings

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
    "transactions",
]
