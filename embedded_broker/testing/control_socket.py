"""Control over a stand-alone process: one JSON object a line over loopback, one back.

Off unless asked for (`--control`). Address and token are announced in the ready line; every request carries the token,
because any user of the machine can reach a loopback port. A request is `{"token": ..., "do": WORD, ...}`, the answer
`{"ok": true, "result": ...}` or `{"ok": false, "error": ...}`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping

from embedded_broker.clock import SystemClock
from embedded_broker.cluster import RunningCluster
from embedded_broker.remoting.faults import Action, Answer, CloseConnection, CutFrame, Delay, Drop, Fault
from mqctl.errors import MqctlError, UsageError

log = logging.getLogger("embedded_broker")

_LINE_BYTES = 8 * 1024 * 1024
Words = Mapping[str, object]


class ControlSocket:
    """The listener; `address` and `token` are what a controlling process needs."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.address = ""
        self.token = secrets.token_urlsafe(16)
        self._cluster = cluster
        self._server: asyncio.Server | None = None
        self._verbs: dict[str, Callable[[Words], Awaitable[object]]] = {
            "fault": self._fault,
            "clear_faults": self._clear_faults,
            "record": self._record,
            "requests": self._requests,
            "advance": self._advance,
            "now": self._now,
            "start_broker": lambda words: self._cluster.start_broker(_text(words, "name")),
            "stop_broker": lambda words: self._cluster.stop_broker(_text(words, "name")),
            "kill_broker": lambda words: self._cluster.kill_broker(_text(words, "name")),
            "lose_power": lambda words: self._cluster.lose_power(_text(words, "name")),
            "jump_clock": self._jump_clock,
            "start_name_server": lambda words: self._cluster.start_name_server(_text(words, "name")),
            "stop_name_server": lambda words: self._cluster.stop_name_server(
                _text(words, "name"), kill=words.get("kill") is True
            ),
            "limit_disk": self._limit_disk,
            "pause_delay": self._pause_delay,
            "pause_replication": self._pause_replication,
            "expire_log": self._expire_log,
            "register_with": self._register_with,
            "switch_room": self._switch_room,
            "switch_by_health": self._switch_by_health,
            "reset": lambda _: self._cluster.reset(),
        }

    @property
    def verbs(self) -> tuple[str, ...]:
        """The words that `do` takes."""
        return tuple(self._verbs)

    async def start(self) -> None:
        """Starts to listen on loopback."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LINE_BYTES)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stops to listen."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError) as error:  # ValueError: a line beyond the limit
            log.warning("control socket: %s", error)
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, object]:
        try:
            words = json.loads(line)
            if not isinstance(words, dict):
                raise UsageError("the request is no JSON object")
            if not secrets.compare_digest(str(words.get("token")).encode("utf-8", "replace"), self.token.encode()):
                raise UsageError("the token is wrong", remedy="take it from the ready line")
            verb = self._verbs.get(_text(words, "do"))
            if verb is None:
                raise UsageError(f"no verb {words['do']!r}", reason=f"there are {', '.join(self._verbs)}")
            result = await verb(words)
        except (MqctlError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, "result": result if isinstance(result, dict | list | int | str | None) else None}

    async def _fault(self, words: Words) -> None:
        where = words.get("where")
        self._cluster.control.add(
            Fault(
                _maybe_integer(words, "code"),
                _action(words),
                _maybe_integer(words, "times"),
                _text(words, "server") if words.get("server") is not None else None,
                {str(name): str(value) for name, value in where.items()} if isinstance(where, dict) else {},
            )
        )

    async def _clear_faults(self, _words: Words) -> None:
        self._cluster.control.clear()

    async def _record(self, words: Words) -> None:
        self._cluster.control.record(on=words.get("on", True) is True)

    async def _requests(self, words: Words) -> list[dict[str, object]]:
        server = _text(words, "server") if words.get("server") is not None else None
        return [
            {
                "server": request.server,
                "code": request.code,
                "peer": request.peer,
                "at_ms": request.at_ms,
                "ext_fields": dict(request.ext_fields),
                "body": base64.b64encode(request.body).decode(),
                "oneway": request.oneway,
            }
            for request in self._cluster.control.requests(_maybe_integer(words, "code"), server=server)
        ]

    async def _advance(self, words: Words) -> None:
        await self._cluster.advance(_integer(words, "ms"))

    async def _jump_clock(self, words: Words) -> None:
        if not isinstance(self._cluster.clock, SystemClock):
            raise UsageError("a virtual clock does not jump", remedy="advance it")
        self._cluster.clock.jump(_integer(words, "ms"))

    async def _now(self, _words: Words) -> int:
        return self._cluster.clock.now_ms()

    async def _limit_disk(self, words: Words) -> None:
        self._cluster.broker(_text(words, "name")).limit_disk(_maybe_integer(words, "free_bytes"))

    async def _pause_delay(self, words: Words) -> None:
        schedule = self._cluster.broker(_text(words, "name")).schedule
        schedule.pause() if words.get("on", True) is True else schedule.resume()

    async def _pause_replication(self, words: Words) -> None:
        name = _text(words, "name")
        slave = self._cluster.broker(name).replication.slave
        if slave is None:
            raise UsageError(f"{name} is no slave")
        slave.pause() if words.get("on", True) is True else slave.resume()

    async def _expire_log(self, words: Words) -> None:
        keep = _maybe_integer(words, "keep")
        if keep is not None and keep < 1:
            raise UsageError(f"keep of {keep} is not possible", reason="the newest file always stays")
        self._cluster.broker(_text(words, "name")).storage.retention.delete_all_but_the_newest(keep or 1)

    async def _register_with(self, words: Words) -> None:
        registration = self._cluster.broker(_text(words, "name")).registration
        if registration is None:
            raise UsageError("the broker registers with nobody")
        registration.use(_text(words, "name_servers"))
        await registration.register_and_wait()

    async def _switch_room(self, words: Words) -> None:
        service = self._cluster.address_service(_text(words, "room"))
        if words.get("to") is None:
            service.switch_back()
        else:
            service.switch_to(_text(words, "to"))

    async def _switch_by_health(self, words: Words) -> None:
        for service in self._cluster.address_services.values():
            service.by_health = words.get("on", True) is True


def _text(words: Words, name: str) -> str:
    value = words.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name} is missing, or no text")
    return value


def _integer(words: Words, name: str) -> int:
    value = words.get(name)
    if not isinstance(value, int):
        raise UsageError(f"{name} is missing, or no integer")
    return value


def _maybe_integer(words: Words, name: str) -> int | None:
    return None if words.get(name) is None else _integer(words, name)


def _action(words: Words) -> Action:
    kind = _text(words, "action")
    if kind == "answer":
        ext = words.get("ext_fields")
        return Answer(
            _integer(words, "answer_code"),
            _text(words, "remark") if words.get("remark") is not None else None,
            {str(name): str(value) for name, value in ext.items()} if isinstance(ext, dict) else None,
            _text(words, "body").encode() if words.get("body") is not None else b"",
        )
    if kind == "delay":
        return Delay(_integer(words, "ms"))
    simple: dict[str, Action] = {"drop": Drop(), "close": CloseConnection(), "cut": CutFrame()}
    if kind not in simple:
        raise UsageError(f"no action {kind!r}", reason=f"there are answer, delay, {', '.join(simple)}")
    return simple[kind]
