"""The faults of a scenario: each declared kind, and what is done for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from mqctl.client.broker_changes import delete_expired_commit_log, put_broker_settings
from mqctl.errors import BadInputError, StorageError
from mqctl.local.control import control
from mqctl.local.planting import Planting
from mqctl.local.processes import Child
from mqctl.local.scenario import (
    AnswerFault,
    DamageFile,
    Expire,
    Fault,
    KillBroker,
    KillConsumer,
    PauseDelay,
    ResizeTopic,
    StopBroker,
)
from mqctl.local.state import Ready


class Broken(Protocol):
    """What faults need of the stage."""

    clusters: list[Ready]
    stores: dict[str, Path]
    consumers: dict[str, Child]

    def planting(self, number: int) -> Planting: ...


class Breaking:
    """Strikes faults on a stage."""

    def __init__(self, stage: Broken) -> None:
        self._stage = stage

    def strike(self, fault: Fault) -> None:
        """Does what a fault says. Raises what asking brokers raises; BadInputError, StorageError for files."""
        match fault:
            case PauseDelay():
                self._control(fault.broker, "pause_delay", name=fault.broker)
            case KillBroker():
                self._control(fault.broker, "kill_broker", name=fault.broker)
            case StopBroker():
                self._control(fault.broker, "stop_broker", name=fault.broker)
            case KillConsumer():
                self._stage.consumers[fault.consumer].kill()
            case AnswerFault():
                self._answer(fault)
            case ResizeTopic():
                self._stage.planting(fault.cluster).resize(fault)
            case Expire():
                self._expire(fault.broker)
            case DamageFile():
                damage(self._stage.stores[fault.broker], fault)

    def _cluster_of(self, broker: str) -> int:
        return next(
            number
            for number, ready in enumerate(self._stage.clusters)
            if any(item.name == broker for item in ready.brokers)
        )

    def _control(self, broker: str, do: str, **words: object) -> None:
        at = self._stage.clusters[self._cluster_of(broker)].control
        assert at is not None  # every cluster of a stage is started with its control socket
        control(at, do, **words)

    def _answer(self, fault: AnswerFault) -> None:
        words: Mapping[str, object] = {
            "code": fault.request_code,
            "action": "answer",
            "answer_code": fault.answer_code,
            "remark": fault.remark,
            "server": fault.broker,
            "where": fault.fields,
        }
        broker = fault.broker or self._stage.clusters[0].brokers[0].name
        self._control(broker, "fault", **words)

    def _expire(self, broker: str) -> None:
        planting = self._stage.planting(self._cluster_of(broker))
        planting.ask(
            [
                (broker, put_broker_settings({"fileReservedTime": "0"})),
                (broker, delete_expired_commit_log()),
                (broker, put_broker_settings({"fileReservedTime": "72"})),
            ]
        )


def damage(store: Path, fault: DamageFile) -> None:
    """Damages a file of a store.

    Raises:
        BadInputError: the scenario names no file there.
        StorageError: it cannot be written.
    """
    matching = sorted(store.glob(fault.file))
    if not matching:
        raise BadInputError(f"could not damage {fault.file} of {fault.broker}", reason=f"there is none below {store}")
    file = matching[-1]
    changes: dict[str, Callable[[bytearray, int], bytearray]] = {
        "zero": lambda data, at: data[:at] + bytes(fault.size_bytes) + data[at + fault.size_bytes :],
        "flip": lambda data, at: (
            data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + fault.size_bytes]) + data[at + fault.size_bytes :]
        ),
        "cut": lambda data, at: data[:at],
    }
    try:
        if fault.how == "remove":
            file.unlink()
            return
        data = bytearray(file.read_bytes())
        at = fault.offset if fault.offset >= 0 else len(data.rstrip(b"\0")) + fault.offset
        file.write_bytes(changes[fault.how](data, at))
    except OSError as error:
        raise StorageError(f"could not damage {file}", reason=error.strerror or str(error)) from error
