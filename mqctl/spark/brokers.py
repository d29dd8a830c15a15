"""Which broker a store belongs to: as it is told, or by the topics that every broker makes for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from mqctl.errors import MqctlError
from mqctl.model.names import MEMBER_TOPIC_PREFIX, is_system_topic
from mqctl.spark.scan.planning import open_store
from mqctl.spark.selection import Selection
from mqctl.store.config_files import TOPICS, topic_configs
from mqctl.store.directory import StoreDirectory

_PERM_INHERIT = 1


def broker_of(store: StoreDirectory) -> str | None:
    """Returns the broker's name by its own topics; None where they do not tell one.

    A broker makes a topic of its own name with one queue and the permission INHERIT (`TopicConfigManager` of 4.9.8),
    and 5.x one that ends in its name.
    """
    topics = topic_configs(store.config(TOPICS))
    members = [
        each.name.removeprefix(MEMBER_TOPIC_PREFIX) for each in topics if each.name.startswith(MEMBER_TOPIC_PREFIX)
    ]
    if len(members) == 1:
        return members[0]
    own = [
        each.name
        for each in topics
        if each.perm & _PERM_INHERIT
        and (each.read_queue_count, each.write_queue_count) == (1, 1)
        and not is_system_topic(each.name)
    ]
    return own[0] if len(own) == 1 else None


def broker_names(stores: Sequence[str], given: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the broker of each store, empty where nobody knows; what is `told` (empty: nothing) counts first.

    A store that cannot be opened here has none: whoever reads it says why it cannot.
    """
    names = []
    for number, path in enumerate(stores):
        name = given[number] if number < len(given) else ""
        if not name:
            try:
                name = broker_of(open_store(path)) or ""
            except MqctlError:
                name = ""
        names.append(name)
    return tuple(names)


def with_brokers(report: Any, wanted: Selection) -> Any:
    """Returns the report (a dataclass, or a list of rows) with the broker beside each store that it names."""
    if isinstance(report, list):
        return [_row(row, wanted) for row in report]
    if not is_dataclass(report) or isinstance(report, type):
        return report
    lists = {
        each.name: with_brokers(rows, wanted)
        for each in fields(report)
        if isinstance(rows := getattr(report, each.name), list)
    }
    return replace(report, **lists)


def _row(row: object, wanted: Selection) -> object:
    if not is_dataclass(row) or isinstance(row, type):
        return row
    names = {each.name for each in fields(row)}
    values: dict[str, Any] = {}
    for store, broker in (("store", "broker"), ("hot_store", "hot_broker")):
        if store in names and broker in names and getattr(row, store) is not None:
            values[broker] = wanted.broker_of(getattr(row, store)) or None
    return replace(row, **values) if values else row
