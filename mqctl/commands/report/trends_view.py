"""`report trends`: groups and brokers over weeks and months."""

from __future__ import annotations

from mqctl.model.over_time import TrendsReported
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import sentence

_GROUP_COLUMNS = (
    Column("cluster", "cluster"),
    Column("group", "group"),
    Column("topic", "topic"),
    Column("period_count", "periods", CellKind.COUNT),
    Column("first_ms", "first seen", CellKind.TIME_MS, wide=True),
    Column("last_ms", "last seen", CellKind.TIME_MS, wide=True),
    Column("first_lag_count", "lag then", CellKind.COUNT),
    Column("last_lag_count", "lag now", CellKind.COUNT),
    Column("most_lag_count", "most lag", CellKind.COUNT),
    Column("lag_change_per_day", "lag change/day", CellKind.RATE, none="?"),
    Column("produced_count", "produced", CellKind.COUNT, none="?"),
    Column("committed_count", "committed", CellKind.COUNT, none="?"),
)
_BROKER_COLUMNS = (
    Column("cluster", "cluster"),
    Column("broker", "broker"),
    Column("broker_id", "id", CellKind.COUNT),
    Column("period_count", "periods", CellKind.COUNT),
    Column("first_disk_share", "disk then", CellKind.SHARE, none="?"),
    Column("last_disk_share", "disk now", CellKind.SHARE, none="?"),
    Column("most_disk_share", "most disk", CellKind.SHARE, none="?"),
    Column("disk_change_per_day", "disk change/day", CellKind.SHARE, none="?"),
    Column("full_in_ms", "full in", CellKind.DURATION_MS),
    Column("most_put_tps", "most in/s", CellKind.RATE, none="?"),
)


def trends_document(value: TrendsReported) -> Document:
    """Builds the document of the trends."""
    return Document(
        schema="report.trends/1",
        value=value,
        records=value.groups,
        csv_columns=_GROUP_COLUMNS,
        blocks=[
            Table(
                _GROUP_COLUMNS,
                value.groups,
                empty=sentence("empty-no-group-has-offsets-there", "no group has committed offsets there"),
            ),
            Table(
                _BROKER_COLUMNS, value.brokers, empty=sentence("empty-no-broker-was-recorded", "no broker was recorded")
            ),
        ],
    )
