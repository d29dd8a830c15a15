"""Every rule: importing this module registers them."""

from __future__ import annotations

from mqctl.diagnosis import (  # noqa: F401 - a rule registers itself when its module is imported
    mq1_brokers,
    mq1_controllers,
    mq1_copies,
    mq1_host,
    mq1_probe,
    mq1_replication,
    mq1_store,
    mq1_writes,
    mq2_churn,
    mq2_flapping,
    mq2_group_settings,
    mq2_refused,
    mq2_subscriptions,
    mq2_unwanted,
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
from mqctl.diagnosis.rule import RULES as _REGISTERED

RULES = dict(sorted(_REGISTERED.items()))
"""Every rule by code, in order."""
