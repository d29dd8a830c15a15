"""The catalogue in English: the words of each rule stand in the file that is named as the rule's."""

from __future__ import annotations

from mqctl.render.messages import Text
from mqctl.render.messages.en import (
    mq1_brokers,
    mq1_copies,
    mq1_probe,
    mq1_replication,
    mq1_store,
    mq1_writes,
    mq2_churn,
    mq2_refused,
    mq2_subscriptions,
    mq3_parallelism,
    mq3_settings,
    mq3_threads,
    mq4_movement,
    mq4_offsets,
    mq4_pop,
    mq4_retries,
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
from mqctl.render.messages.en.phrases import PHRASES

RULES: dict[str, Text] = {
    **mq1_brokers.RULES,
    **mq1_copies.RULES,
    **mq1_probe.RULES,
    **mq1_replication.RULES,
    **mq1_store.RULES,
    **mq1_writes.RULES,
    **mq2_churn.RULES,
    **mq2_refused.RULES,
    **mq2_subscriptions.RULES,
    **mq3_parallelism.RULES,
    **mq3_settings.RULES,
    **mq3_threads.RULES,
    **mq4_movement.RULES,
    **mq4_offsets.RULES,
    **mq4_pop.RULES,
    **mq4_retries.RULES,
    **mq5_order.RULES,
    **mq6_access.RULES,
    **mq6_addresses.RULES,
    **mq6_brokers.RULES,
    **mq6_clocks.RULES,
    **mq6_cluster.RULES,
    **mq6_rooms.RULES,
    **mq6_routes.RULES,
    **mq6_settings.RULES,
    **mq6_start.RULES,
    **mq7_delay.RULES,
    **mq7_transactions.RULES,
}

__all__ = ["PHRASES", "RULES"]
