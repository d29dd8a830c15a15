"""Changes by administrators in rounds that crash, and which of them must be there afterwards.

A change of a topic or a group is written before it is answered, but the answer does not depend on it, as in 4.9.8: a
file that cannot be written is only logged. So a change is promised when its file was written, and then holds through
a kill, and with SYNC_FLUSH through a power loss. Offsets are written every few seconds and never promised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.body import write_group_config
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import Request
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteSubscriptionGroup,
    DeleteTopic,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_client import UpdateConsumerOffset
from tests.embedded_broker.wire import Peer

_NAMES = 8
Value = tuple[int, ...] | None
"""What a change sets: queues and permission of a topic, retries of a group; None deletes it."""


@dataclass
class AdminLedger:
    """Administrators of one store.

    Attributes:
        possible: by name, the values that may be found: the last promised one, and those asked for since.
        changes: acknowledged changes of topics and groups.
        promised: those that had to hold.
        taken: acknowledged changes without promise that were gone after a crash.
    """

    possible: dict[str, list[Value]] = field(default_factory=dict)
    changes: int = 0
    promised: int = 0
    taken: int = 0
    _acknowledged: dict[str, int] = field(default_factory=dict)

    def change(self, peer: Peer, random: Random, is_promised: Callable[[], bool]) -> None:
        """Makes a change; `is_promised`, asked after its answer, tells whether its file was written."""
        number = random.randrange(_NAMES)
        kind = random.randrange(7)
        if kind < 3:
            queues, perm = 1 + random.randrange(3), random.choice((2, 4, 6))
            create = partial(peer.call, topic_request(f"Made{number}", queues, perm))
            self._make(f"Made{number}", (queues, perm), create, is_promised)
        elif kind == 3:
            self._make(f"Made{number}", None, partial(peer.call, DeleteTopic(topic=f"Made{number}")), is_promised)
        elif kind == 4:
            retries = random.randrange(20)
            config = SubscriptionGroupConfig(name=f"GM{number}", retry_max_times=retries)
            body = dump_bytes(write_group_config(config, False))
            put = partial(peer.call, UpdateAndCreateSubscriptionGroup(), body)
            self._make(f"GM{number}", (retries,), put, is_promised)
        elif kind == 5:
            delete = DeleteSubscriptionGroup(group_name=f"GM{number}", remove_offset=True, clean_offset=True)
            self._make(f"GM{number}", None, partial(peer.call, delete), is_promised)
        else:
            reset = UpdateConsumerOffset(consumer_group="GR", topic="Plain", queue_id=number % 3, commit_offset=0)
            peer.call(reset)

    def _make(
        self, name: str, value: Value, call: Callable[[], RemotingCommand], is_promised: Callable[[], bool]
    ) -> None:
        values = self.possible.setdefault(name, [None])
        is_written = value is not None or None not in values  # what may not be there is deleted without a write
        values.append(value)  # a broker that dies before it answers may have done it
        if call().code != 0:
            return
        self.changes += 1
        if is_written and is_promised():
            self.promised += 1
            values[:] = [value]
        self._acknowledged[name] = len(values) - 1

    def check(self, peer: Peer, *, held: bool) -> list[str]:
        """Returns what is not as it was promised; from now on, what was found is what counts.

        Args:
            held: whether what was written had to survive (not where power was lost without SYNC_FLUSH).
        """
        problems = []
        state = made(peer)
        for name in sorted({*self.possible, *state}):
            values, value = self.possible.get(name, [None]), state.get(name)
            if value not in values and held:
                problems.append(f"{name} is {value}, after {values} were acknowledged")
            self.taken += value not in values[self._acknowledged.pop(name, 0) :]
            self.possible[name] = [value]
        return problems


def topic_request(name: str, queues: int, perm: int) -> Request:
    """Asks for a topic with so many queues for reading and writing."""
    return CreateTopic(
        topic=name, default_topic="TBW102", read_queue_nums=queues, write_queue_nums=queues, perm=perm,
        topic_filter_type="SINGLE_TAG",
    )  # fmt: skip


def tables(peer: Peer) -> tuple[dict[str, TopicConfig], dict[str, SubscriptionGroupConfig]]:
    """Returns the topics and groups of a broker."""
    topics = TopicConfigTable.from_bytes(peer.call(GetAllTopicConfig()).body).topic_config_table
    groups = SubscriptionGroupTable.from_bytes(peer.call(GetAllSubscriptionGroupConfig()).body).subscription_group_table
    return dict(topics), dict(groups)


def made(peer: Peer) -> dict[str, Value]:
    """Returns what administrators made, as a broker tells it."""
    topics, groups = tables(peer)
    state: dict[str, Value] = {
        name: (one.read_queue_count, one.perm) for name, one in topics.items() if name.startswith("Made")
    }
    return state | {name: (one.retry_max_times,) for name, one in groups.items() if name.startswith("GM")}
