"""Rules: pure functions from a snapshot to findings, in one file a subject of each family (`mq4_offsets`).

Importing the package registers every rule.
"""

from mqctl.diagnosis import (
    mq1_brokers,
    mq1_copies,
    mq1_host,
    mq1_probe,
    mq1_replication,
    mq1_store,
    mq1_writes,
    mq2_churn,
    mq2_flapping,
    mq2_refused,
    mq2_subscriptions,
    mq3_owners,
    mq3_parallelism,
    mq3_settings,
    mq3_threads,
    mq4_movement,
    mq4_offsets,
    mq4_pop,
    mq4_retries,
    mq4_rhythm,
    mq4_weeks,
    mq5_order,
    mq6_access,
    mq6_addresses,
    mq6_brokers,
    mq6_clocks,
    mq6_cluster,
    mq6_rooms,
    mq6_routes,
    mq6_settings,
    mq6_start,
    mq7_delay,
    mq7_transactions,
)
from mqctl.diagnosis.judging import Diagnosis, diagnose
from mqctl.diagnosis.rule import RULES as _REGISTERED
from mqctl.diagnosis.rule import Rule
from mqctl.diagnosis.settings import Settings

RULES = dict(sorted(_REGISTERED.items()))
"""Every rule by code, in order."""

__all__ = [
    "RULES",
    "Diagnosis",
    "Rule",
    "Settings",
    "diagnose",
    "mq1_brokers",
    "mq1_copies",
    "mq1_host",
    "mq1_probe",
    "mq1_replication",
    "mq1_store",
    "mq1_writes",
    "mq2_churn",
    "mq2_flapping",
    "mq2_refused",
    "mq2_subscriptions",
    "mq3_owners",
    "mq3_parallelism",
    "mq3_settings",
    "mq3_threads",
    "mq4_movement",
    "mq4_offsets",
    "mq4_pop",
    "mq4_retries",
    "mq4_rhythm",
    "mq4_weeks",
    "mq5_order",
    "mq6_access",
    "mq6_addresses",
    "mq6_brokers",
    "mq6_clocks",
    "mq6_cluster",
    "mq6_rooms",
    "mq6_routes",
    "mq6_settings",
    "mq6_start",
    "mq7_delay",
    "mq7_transactions",
]
