"""The same world with its group, or its topic, made one of another kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from mqctl.model.config import TopicConfig
from mqctl.model.member import POP, PULL, GroupMembership, MessageModel, RunningInfo
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules.engine.audience import GroupKind, TopicKind
from tests.rules.live_snapshots import LIVE, NOW, saying

_T = TypeVar("_T")
_LIVE = Origin(kind=OriginKind.LIVE, location="192.0.2.7:9876", observed_at_ms=NOW, observed_from=ObservedFrom.CLOCK)
_CONSUME_TYPES = {GroupKind.POP: POP, GroupKind.PULL: PULL}
_LOCK: dict[str, Any] = {"locked": True, "last_lock_time_ms": NOW - 1_000}
_NAMES = {
    TopicKind.LIGHT: "%LMQ%Pay",
    TopicKind.RETRY: "%RETRY%G",
    TopicKind.DEAD_LETTER: "%DLQ%G",
    TopicKind.SYSTEM: "rmq_sys_Pay",
}
_ATTRIBUTES = {TopicKind.FIFO: {"message.type": "FIFO"}, TopicKind.COMPACTED: {"cleanup.policy": "COMPACTION"}}


def everywhere(value: _T, change: Callable[[Any], Any]) -> _T:
    """Changes every value inside `value`, innermost first."""
    made: Any = value
    if is_dataclass(value) and not isinstance(value, type):
        now = {item.name: getattr(value, item.name) for item in fields(value)}
        new = {name: everywhere(part, change) for name, part in now.items()}
        made = replace(value, **{name: part for name, part in new.items() if part is not now[name]})
    elif isinstance(value, tuple):
        made = tuple(everywhere(part, change) for part in value)
    elif isinstance(value, Mapping):
        made = {everywhere(key, change): everywhere(part, change) for key, part in value.items()}
    return change(made)  # type: ignore[no-any-return]


def renamed(world: ClusterSnapshot, names: Mapping[str, str]) -> ClusterSnapshot:
    return everywhere(world, lambda value: names.get(value, value) if type(value) is str else value)


def alive(state: BrokerSnapshot | ClusterSnapshot) -> ClusterSnapshot:
    """The world of a fault as a live cluster shows it; a single broker knows the members of the healthy one."""
    if isinstance(state, ClusterSnapshot):
        return state
    broker = replace(state, memberships=LIVE.brokers[0].memberships)
    return replace(LIVE, brokers=(broker,), running=LIVE.running, origin=_LIVE)


def with_group(world: ClusterSnapshot, kind: GroupKind) -> ClusterSnapshot:
    """The same with another kind of group."""
    if kind is GroupKind.SYSTEM:
        return renamed(
            world, {"G": "TOOLS_CONSUMER", "%RETRY%G": "%RETRY%TOOLS_CONSUMER", "%DLQ%G": "%DLQ%TOOLS_CONSUMER"}
        )
    if kind is GroupKind.OFFLINE:
        return everywhere(
            world,
            lambda value: (
                replace(value, memberships=())
                if isinstance(value, BrokerSnapshot)
                else replace(value, running=())
                if isinstance(value, ClusterSnapshot)
                else value
            ),
        )
    if not any(broker.memberships for broker in world.brokers):  # then somebody comes
        came = tuple(replace(broker, memberships=LIVE.brokers[0].memberships) for broker in world.brokers)
        world = replace(world, brokers=came, running=LIVE.running)
    models = {info.properties.get("messageModel") for info in world.running}
    broadcasting = kind is GroupKind.BROADCASTING
    model = MessageModel.BROADCASTING if broadcasting else MessageModel.CLUSTERING
    orderly = str(kind is GroupKind.ORDERLY).lower()

    def change(value: Any) -> Any:
        if isinstance(value, GroupMembership):
            return replace(value, consume_type=_CONSUME_TYPES.get(kind, "CONSUME_PASSIVELY"), message_model=model)
        if isinstance(value, RunningInfo):
            state = saying(PROP_CONSUMEORDERLY=orderly)(value)
            state = state if len(models) > 1 else saying(messageModel=model.value)(state)
            queues = tuple(replace(item, **_LOCK) if not item.last_lock_time_ms else item for item in state.queues)
            return replace(state, queues=queues) if kind is GroupKind.ORDERLY else state
        return value

    made = everywhere(world, change)
    if kind is GroupKind.PROXY:
        clients = {client for broker in world.brokers for item in broker.memberships for client in item.client_ids}
        clients |= {info.client_id for info in world.running}
        made = renamed(made, {name: f"pod-{number}@1@{number}@q3f" for number, name in enumerate(sorted(clients))})
    return made


def with_topic(world: ClusterSnapshot, topic: str, kind: TopicKind) -> ClusterSnapshot:
    """The same with another kind of topic instead of `topic`."""
    name = _NAMES.get(kind, "Other")

    def change(value: Any) -> Any:
        if isinstance(value, TopicConfig) and value.name == topic:
            order = value.order if kind is TopicKind.FIFO else kind is TopicKind.ORDERED
            return replace(value, attributes=_ATTRIBUTES.get(kind, {}), order=order)
        return value

    made = everywhere(world, change)
    return made if name == topic else renamed(renamed(made, {name: f"{name}-before"}), {topic: name})
