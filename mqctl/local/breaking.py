"""The faults of a scenario: each declared kind, and what is done for it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mqctl.errors import BadInputError, RefusedError, StorageError, UnreachableError
from mqctl.local.faults import (
    AnswerFault,
    DamageFile,
    Expire,
    Fault,
    KillBroker,
    KillConsumer,
    LoseNameServer,
    PauseDelay,
    PauseReplication,
    RegisterWith,
    ResizeTopic,
    ResumeReplication,
    StartBroker,
    StartNameServer,
    StopBroker,
)
from mqctl.local.planting import Planting
from mqctl.local.processes import Child
from mqctl.local.state import ControlAddress, Ready
from mqctl.model.numbers import decimal
from mqctl.store.own_files import changing_stream
from mqctl.text import sentence

_TIMEOUT_S = 30.0
_CHUNK_BYTES = 1 << 20
_VERBS: dict[type[Fault], str] = {
    PauseDelay: "pause_delay",
    KillBroker: "kill_broker",
    StopBroker: "stop_broker",
    StartBroker: "start_broker",
    PauseReplication: "pause_replication",
    Expire: "expire_log",
}


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
            case PauseDelay() | KillBroker() | StopBroker() | StartBroker() | PauseReplication() | Expire():
                self._control(fault.broker, _VERBS[type(fault)], name=fault.broker)
            case LoseNameServer():
                self._room(fault.room, "switch_room", room=fault.room, to=fault.to)
                self._room(fault.room, "stop_name_server", name=f"namesrv-{fault.room}", kill=True)
            case StartNameServer():
                self._room(fault.room, "start_name_server", name=f"namesrv-{fault.room}")
                self._room(fault.room, "switch_room", room=fault.room, to=fault.room)
            case ResumeReplication():
                self._control(fault.broker, "pause_replication", name=fault.broker, on=False)
            case KillConsumer():
                self._stage.consumers[fault.consumer].kill()
            case AnswerFault():
                self._answer(fault)
            case ResizeTopic():
                self._stage.planting(fault.cluster).resize(fault)
            case RegisterWith():
                servers = ";".join(self._stage.clusters[number].namesrv for number in fault.clusters)
                self._control(fault.broker, "register_with", name=fault.broker, name_servers=servers)
            case DamageFile():
                damage_store(self._stage.stores[fault.broker], fault)

    def _cluster_of(self, broker: str) -> int:
        return next(
            number
            for number, ready in enumerate(self._stage.clusters)
            if any(item.name == broker for item in ready.brokers)
        )

    def _control(self, broker: str, do: str, **words: object) -> None:
        self._tell_cluster(self._stage.clusters[self._cluster_of(broker)], do, **words)

    def _room(self, of: str, do: str, **words: object) -> None:
        self._tell_cluster(next(ready for ready in self._stage.clusters if of in ready.nsaddr), do, **words)

    def _tell_cluster(self, ready: Ready, do: str, **words: object) -> None:
        assert ready.control is not None  # every cluster of a stage is started with its control socket
        control(ready.control, do, **words)

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


def damage_store(store: Path, fault: DamageFile) -> None:
    """Damages a file of a store.

    Raises:
        BadInputError: the scenario names no file there.
        StorageError: it cannot be written.
    """
    matching = sorted(store.glob(fault.file))
    if not matching:
        raise BadInputError(
            sentence(
                "local-could-not-damage-file",
                "could not damage {file} of {broker}",
                file=fault.file,
                broker=fault.broker,
            ),
            reason=sentence("none-below", "there is none below {store}", store=store),
        )
    file = matching[-1]
    try:
        if fault.how == "remove":
            file.unlink()
            return
        with changing_stream(file) as stream:
            at = fault.offset if fault.offset >= 0 else _written_bytes(file) + fault.offset
            stream.seek(at)
            if fault.how == "cut":
                stream.truncate()
                return
            before = stream.read(fault.size_bytes)
            stream.seek(at)
            stream.write(bytes(len(before)) if fault.how == "zero" else bytes(byte ^ 0xFF for byte in before))
    except OSError as error:
        raise StorageError(
            sentence("local-could-not-damage", "could not damage {file}", file=file),
            reason=error.strerror or str(error),
        ) from error


def _written_bytes(file: Path) -> int:
    """Returns where the zeros begin that a broker's file ends in; it is as large as it may become from the start."""
    with file.open("rb") as stream:
        end = stream.seek(0, 2)
        while end > 0:
            start = max(0, end - _CHUNK_BYTES)
            stream.seek(start)
            written = stream.read(end - start).rstrip(b"\0")
            if written:
                return start + len(written)
            end = start
    return 0


def control(at: ControlAddress, do: str, **words: object) -> object:
    """Has the process of an embedded broker do something, one JSON line to its control socket; returns its answer.

    Raises:
        UnreachableError: nobody listens.
        RefusedError: it cannot be done.
    """
    host, _, port = at.address.rpartition(":")
    line = json.dumps({"token": at.token, "do": do, **words}).encode() + b"\n"
    try:
        with socket.create_connection((host, decimal(port, high=65_535) or 0), timeout=_TIMEOUT_S) as connection:
            connection.sendall(line)
            with connection.makefile("rb") as stream:
                answer = stream.readline()
    except OSError as error:
        raise UnreachableError(
            sentence(
                "local-could-not-ask-control",
                "could not ask the control socket {address} to {do}",
                address=at.address,
                do=do,
            ),
            reason=str(error),
        ) from error
    said = (
        json.loads(answer)
        if answer
        else {"ok": False, "error": sentence("local-closed-connection", "it closed the connection")}
    )
    if not said["ok"]:
        raise RefusedError(sentence("could-not", "could not {what}", what=do), reason=str(said["error"]))
    return said.get("result")
