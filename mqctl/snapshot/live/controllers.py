"""Brokers of 5.x under a controller: what the controllers tell of them (1005, 1006), and their epochs (1007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.answers import AnswerError
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.epochs import Epoch
from mqctl.model.gap import Part
from mqctl.model.replication import HaView, SeenController, SyncState
from mqctl.protocol.bodies_ha import EpochEntryCache, ReplicasInfo
from mqctl.protocol.requests_v5 import GetMetadataInfoReply
from mqctl.snapshot.live.asking import Answers, Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.text import sentence


def is_controlled(broker: LiveBroker) -> bool:
    """Whether a controller elects the master of this broker's name."""
    return broker.config.get("enableControllerMode") == "true"


def ask_controllers(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks the controllers that brokers name for their leader, the leader who is in sync, and brokers for their epochs.

    A controller that does not answer is not asked again, and costs the other questions none of their time.
    """
    groups: dict[str, list[LiveBroker]] = {}
    for broker in brokers:
        groups.setdefault(broker.config.get("controllerAddr", ""), []).append(broker)
    _ask_epochs(asking, brokers)
    places = [(group, address) for group in groups for address in _addresses(group)]
    heard = asking.put(((group, address), address, ask.controller_metadata()) for group, address in places)
    seen = {
        group: tuple(_seen(address, heard, (group, address)) for at, address in places if at == group)
        for group in groups
    }
    leaders = {
        group: next((item.leader for item in controllers if item.leader), None) for group, controllers in seen.items()
    }
    states = asking.put(
        (group, leader, ask.sync_states(sorted({item.name for item in groups[group]})))
        for group, leader in leaders.items()
        if leader is not None
    )
    for group, members in groups.items():
        refused = states.errors.get(group) or next((e for (at, _), e in heard.errors.items() if at == group), None)
        table = states.values[group].replicas_info_table if group in states.values else {}
        for broker in members:
            _note(broker, seen[group], table, refused)


def _addresses(group: str) -> list[str]:
    return [part for text in group.replace(",", ";").split(";") if (part := text.strip())]


def _seen(address: str, heard: Answers[tuple[str, str], GetMetadataInfoReply], key: tuple[str, str]) -> SeenController:
    reply = heard.values.get(key)
    return SeenController(
        address=address,
        leader=(reply.controller_leader_address or None) if reply is not None else None,
        answered=reply is not None,
    )


def _note(
    broker: LiveBroker,
    controllers: tuple[SeenController, ...],
    table: Mapping[str, ReplicasInfo],
    refused: MqctlError | None,
) -> None:
    info = table.get(broker.name)
    if broker.replication is not None:
        state = None if info is None else _sync_state(info)
        broker.replication = replace(broker.replication, controllers=controllers, sync_state=state)
    if info is None:
        group = broker.config.get("controllerAddr", "")
        error = refused or NotFoundError(
            sentence("snapshot-sync-state-set-not", "The sync state set of {broker} is not known", broker=broker.name),
            reason=sentence(
                "snapshot-no-controller-names-leader",
                "no controller of {group} names a leader or the broker",
                group=group or sentence("snapshot-empty-controlleraddr", "an empty controllerAddr"),
            ),
        )
        broker.miss(Part.CONTROLLERS, error)


def _sync_state(info: ReplicasInfo) -> SyncState:
    members = (*info.in_sync_replicas, *info.not_in_sync_replicas)
    return SyncState(
        in_sync=tuple(item.broker_address for item in info.in_sync_replicas),
        out_of_sync=tuple(item.broker_address for item in info.not_in_sync_replicas),
        master_epoch=info.master_epoch,
        set_epoch=info.sync_state_set_epoch,
        master=info.master_address or None,
        dead=tuple(item.broker_address for item in members if not item.alive),
    )


def _ask_epochs(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Fills in epochs; a broker that refuses to tell them has none to tell."""
    answers = asking.put((number, item.address.address, ask.epochs()) for number, item in enumerate(brokers))
    for number, broker in enumerate(brokers):
        error = answers.errors.get(number)
        if error is not None and not isinstance(error, AnswerError):
            broker.miss(Part.CONTROLLERS, error)
        elif error is None and broker.replication is not None:
            broker.replication = _with_epochs(broker.replication, answers.values[number])


def _with_epochs(view: HaView, cache: EpochEntryCache) -> HaView:
    return replace(view, epochs=tuple(Epoch(item.epoch, item.start_offset) for item in cache.epoch_list))
