"""Rules: pure functions from a snapshot to findings.

Importing the package registers every rule.
"""

from mqctl.diagnosis import (
    broker_health,
    cluster_routes,
    comings,
    delay,
    drain,
    gone_brokers,
    movement,
    offsets,
    order,
    parallelism,
    rooms,
    routes,
    stacks,
    storage,
    strategies,
    subscriptions,
    transactions,
)
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
    "broker_health",
    "cluster_routes",
    "comings",
    "delay",
    "diagnose",
    "drain",
    "gone_brokers",
    "movement",
    "offsets",
    "order",
    "parallelism",
    "rooms",
    "routes",
    "stacks",
    "storage",
    "strategies",
    "subscriptions",
    "transactions",
]
