"""POP consumption of a store: its records, read whole, and its configuration files."""

from __future__ import annotations

from mqctl.errors import MqctlError
from mqctl.model.counts import counted
from mqctl.model.gap import Cause, Part
from mqctl.model.names import REVIVE_GROUP, REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from mqctl.model.pop_share import PopShare
from mqctl.protocol.bodies_pop import MessageRequestModes, OrderInfo, OrderInfos
from mqctl.protocol.body import BodyError
from mqctl.snapshot.pop_records import PopLedger, PopNotes, pop_shares, unknown_modes
from mqctl.snapshot.store.reading import Reading
from mqctl.store import config_files as configs
from mqctl.store.directory import POP_DATABASE, is_rocksdb
from mqctl.text import sentence

_IN_DATABASE = sentence(
    "pops-in-store-database",
    "kvStore holds what is popped of a broker with popConsumerKVServiceEnable; it is not read, and records do not tell "
    "what is invisible",
)


def store_pop_shares(reading: Reading, now_ms: int) -> tuple[PopShare, ...]:
    """Reads every record of the timer topic and of the revive topic; what cannot be read is noted as missing."""
    ledger = PopLedger()
    queues = [key for key in reading.bounds if key[0].startswith(REVIVE_TOPIC_PREFIX)]
    lost = 0
    if (TIMER_TOPIC, 0) in reading.bounds:
        queues.append((TIMER_TOPIC, 0))
    for key in queues:
        _, entries = reading.entries(reading.bounds[key])
        for physical_offset in entries["physical_offset"].tolist():
            try:
                ledger.take(reading.store.commit_log.record_at(physical_offset))
            except MqctlError:
                lost += 1
    if lost or ledger.unreadable_count:
        reading.miss(
            Part.POP,
            sentence(
                "snapshot-unreadable-pops",
                "unreadable: {lost} of pops",
                lost=counted(lost + ledger.unreadable_count, "record"),
            ),
        )
    in_records = not is_rocksdb(reading.store.path / POP_DATABASE)  # it stays when a broker is set back to records
    if not in_records:
        reading.miss(Part.POP, _IN_DATABASE, cause=Cause.UNREADABLE)
    offsets = {
        (group, topic, queue_id): offset
        for (topic, group), queues in reading.offset_table.offsets.items()
        for queue_id, offset in queues.items()
    }
    modes = {(mode.consumer_group, mode.topic): mode.mode for mode in request_modes(reading)}
    reading.gaps += unknown_modes(modes)
    notes = PopNotes(
        bounds={key: (bounds.min_offset, bounds.max_offset) for key, bounds in reading.bounds.items()},
        offsets=offsets,
        revived={queue: at for (group, _, queue), at in offsets.items() if group == REVIVE_GROUP},
        modes=modes,
        batches=_batches(reading),
        in_records=in_records,
    )
    return pop_shares(ledger, notes, now_ms)


def request_modes(reading: Reading) -> MessageRequestModes:
    """Reads who was set to pop or to pull; a file that is none counts as empty, as it does for a broker."""
    try:
        return MessageRequestModes.from_json(reading.config(configs.REQUEST_MODES).value)
    except BodyError:
        reading.miss(
            Part.POP,
            sentence(
                "snapshot-config-no-table-modes",
                "config/{request_modes} is not a table of modes",
                request_modes=configs.REQUEST_MODES,
            ),
        )
        return MessageRequestModes()


def _batches(reading: Reading) -> dict[tuple[str, str, int], OrderInfo]:
    batches = {}
    try:
        infos = OrderInfos.from_json(reading.config(configs.ORDER_INFOS).value)
    except BodyError:
        reading.miss(
            Part.POP,
            sentence(
                "snapshot-config-no-table-ordered",
                "config/{order_infos} is not a table of ordered queues",
                order_infos=configs.ORDER_INFOS,
            ),
        )
        return {}
    for key, queues in infos.table.items():
        topic, _, group = key.partition("@")
        batches.update({(group, topic, queue_id): info for queue_id, info in queues.items()})
    return batches
