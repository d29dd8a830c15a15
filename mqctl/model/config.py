"""Topic and consumer group settings, as brokers keep and exchange them.

Sources: `TopicConfig` and `SubscriptionGroupConfig` of 4.9.8 and 5.3.3. A field that only 5.x knows has the value a
4.9 broker implies, so one value serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass

PERM_PRIORITY = 0x8
PERM_READ = 0x4
PERM_WRITE = 0x2
PERM_INHERIT = 0x1

KNOWN_RETRIES = frozenset({"CUSTOMIZED", "EXPONENTIAL"})
"""Kinds of retries of a group (`GroupRetryPolicyType` of 5.5.0)."""
MOST_QUEUES = 65_536
"""Queues of a topic on one broker that are read and made; RocketMQ has no limit of its own, and each becomes a row."""


def perm_text(perm: int) -> str:
    """Writes permission bits as mqadmin does: `RW-` for 6, `---` for 0, `RWX` for 7."""
    letters = (("R", PERM_READ), ("W", PERM_WRITE), ("X", PERM_INHERIT))
    return "".join(letter if perm & bit else "-" for letter, bit in letters)


@dataclass(frozen=True, slots=True)
class DataVersion:
    """Version of a configuration table: a counter and the epoch milliseconds of its last change."""

    counter: int = 0
    timestamp_ms: int = 0
    state_version: int = 0


def creates_groups(settings: Mapping[str, str]) -> bool:
    """Tells from a broker's properties whether it makes settings of groups that it does not know, and serves them."""
    return settings.get("autoCreateSubscriptionGroup", "").strip().lower() != "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """Settings of one topic on one broker.

    Attributes:
        perm: permission bits (`PERM_READ`, `PERM_WRITE`, `PERM_INHERIT`).
        filter_type: `SINGLE_TAG` or `MULTI_TAG`; nothing acts on it.
        sys_flag: bit 0 unit, bit 1 unit sub.
        order: whether an order configuration exists for the topic.
        attributes: 5.x only: `queue.type`, `cleanup.policy`, `message.type`, `reserve.time`.
    """

    name: str
    read_queue_count: int = 16
    write_queue_count: int = 16
    perm: int = PERM_READ | PERM_WRITE
    filter_type: str = "SINGLE_TAG"
    sys_flag: int = 0
    order: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def readable(self) -> bool:
        return bool(self.perm & PERM_READ)

    @property
    def writable(self) -> bool:
        return bool(self.perm & PERM_WRITE)

    @property
    def message_type(self) -> str | None:
        """Its `message.type` (5.x); some tables keep it under the name that an update has."""
        return self._attribute("message.type")

    @property
    def compacted(self) -> bool:
        """Whether the newest message of each key stays, whatever the retention (5.x)."""
        return self._attribute("cleanup.policy") == "COMPACTION"

    def _attribute(self, name: str) -> str | None:
        return self.attributes.get(name, self.attributes.get(f"+{name}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupConfig:
    """Settings of one consumer group on one broker.

    Attributes:
        retry_max_times: deliveries after which a message goes to the dead-letter topic.
        broker_id: id of the broker that the group consumes from (0 is the master).
        which_broker_when_consume_slowly: id of the broker suggested to consumers that read from disk.
        consume_message_orderly, group_sys_flag, consume_timeout_minute, attributes: 5.x only.
        retry_policy_type: 5.x only: `CUSTOMIZED` or `EXPONENTIAL`.
        retry_intervals_ms: 5.x only: waits of a customized retry policy; empty means the default ladder.
        subscriptions: 5.x only: topics of a subscription kept on the broker, with their expression.
        forbidden: 5.x only: topic -> bits of forbidden operations, from the table's `forbiddenTable`.
    """

    name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_count: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: int = 0
    consume_timeout_minute: int = 15
    retry_policy_type: str = "CUSTOMIZED"
    retry_intervals_ms: tuple[int, ...] = ()
    subscriptions: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    forbidden: Mapping[str, int] = field(default_factory=dict)

    @property
    def unknown_kinds(self) -> dict[str, str]:
        """Its kind of retries, where that is not known."""
        kind = self.retry_policy_type
        return {} if kind in KNOWN_RETRIES else {"groupRetryPolicy.type": kind}
