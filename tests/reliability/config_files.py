"""What a broker must come up with from the configuration files that a crash left, judged without the broker's reader.

Of each file the main one counts unless it is missing, empty or no JSON, then its backup; with neither, the broker
begins with what a new one has (`ConfigManager.load` of 4.9.8).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embedded_broker import EmbeddedBroker
from embedded_broker.broker import Broker
from mqctl.model.names import SCHEDULE_TOPIC, TRANSACTION_GROUP
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable, DelayOffsetTable
from mqctl.protocol.requests_admin import GetAllConsumerOffset, GetAllDelayOffset
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import tables

NAMES = ("topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json")
_NUMBER_AS_KEY = re.compile(r"([{,]\s*)(\d+)(\s*:)")
Shapes = dict[str, tuple[int, ...]]


@dataclass
class Survived:
    """The configuration of a broker that died.

    Attributes:
        values: the document that counts, by file name; empty when neither file is of use.
        sources: how many came from `main`, `backup` or were lost (`none`).
    """

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, config: Path) -> Survived:
        survived = cls()
        for name in NAMES:
            main, backup = _document(config / name), _document(config / f"{name}.bak")
            survived.values[name] = (main if main is not None else backup) or {}
            survived.sources["main" if main is not None else "backup" if backup is not None else "none"] += 1
        return survived

    def table(self, name: str, key: str) -> dict[str, Any]:
        """Returns one table of a file."""
        value = self.values[name].get(key)
        return value if isinstance(value, dict) else {}


def _document(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(_NUMBER_AS_KEY.sub(r'\1"\2"\3', path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class FreshBroker:
    """Topics (queues, permission) and groups (retries) that a broker has with no files at all."""

    topics: Shapes
    groups: Shapes

    @classmethod
    def of(cls, peer: Peer) -> FreshBroker:
        return cls(*_shapes(peer))


def _shapes(peer: Peer) -> tuple[Shapes, Shapes]:
    topics, groups = tables(peer)
    return (
        {name: (one.read_queue_count, one.write_queue_count, one.perm) for name, one in topics.items()},
        {name: (one.retry_max_times,) for name, one in groups.items()},
    )


def differences(survived: Survived, fresh: FreshBroker, peer: Peer, broker: EmbeddedBroker) -> list[str]:
    """Asks a broker that was just started for what it loaded; returns what it should not have."""
    topics = {
        name: (int(one["readQueueNums"]), int(one["writeQueueNums"]), int(one["perm"]))
        for name, one in survived.table("topics.json", "topicConfigTable").items()
    }
    groups = {
        name: (int(one["retryMaxTimes"]),)
        for name, one in survived.table("subscriptionGroup.json", "subscriptionGroupTable").items()
    }
    has_topics, has_groups = _shapes(peer)
    return [
        *_unlike("topics", fresh.topics | topics, has_topics),
        *_unlike("groups", fresh.groups | groups, has_groups),
        *_unlike("consumer offsets", _consumer_offsets(survived), _loaded_offsets(peer)),
        *_unlike("delay offsets", _delay_offsets(survived, broker), _loaded_levels(peer)),
    ]


def _unlike(what: str, wanted: dict[Any, Any], found: dict[Any, Any]) -> list[str]:
    return [
        f"{what}: {name} is {found.get(name)}, the files say {wanted.get(name)}"
        for name in sorted({*wanted, *found})
        if wanted.get(name) != found.get(name)
    ]


def _consumer_offsets(survived: Survived) -> dict[tuple[str, int], int]:
    table = survived.table("consumerOffset.json", "offsetTable")
    return {(key, int(queue)): int(offset) for key, queues in table.items() if _is_clients(key)
            for queue, offset in queues.items()}  # fmt: skip


def _loaded_offsets(peer: Peer) -> dict[tuple[str, int], int]:
    table = ConsumerOffsetTable.from_bytes(peer.call(GetAllConsumerOffset()).body).offset_table
    return {(key, queue): offset for key, queues in table.items() if _is_clients(key)
            for queue, offset in queues.items()}  # fmt: skip


def _is_clients(key: str) -> bool:
    """The broker's own progress with transactions is brought within its queues at the start."""
    return not key.endswith(f"@{TRANSACTION_GROUP}")


def _delay_offsets(survived: Survived, broker: EmbeddedBroker) -> dict[int, int]:
    offsets = {}
    for key, offset in survived.table("delayOffset.json", "offsetTable").items():
        low, high = broker.on_loop(_bounds_of(int(key) - 1))
        offsets[int(key)] = max(low, min(int(offset), high))
    return offsets


def _bounds_of(queue_id: int) -> Callable[[Broker], tuple[int, int]]:
    return lambda broker: (
        broker.storage.min_offset(SCHEDULE_TOPIC, queue_id),
        broker.storage.max_offset(SCHEDULE_TOPIC, queue_id),
    )


def _loaded_levels(peer: Peer) -> dict[int, int]:
    return dict(DelayOffsetTable.from_bytes(peer.call(GetAllDelayOffset()).body).offset_table)
