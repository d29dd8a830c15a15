"""Stands between mqctl and a cluster: passes requests on, keeps the answers, and gives altered ones.

`python -m tests.reliability.answers.proxy` is a cluster behind one, in a process of its own: what lies cost is not what
hearing them costs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
import threading
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from types import TracebackType
from typing import Self

from embedded_broker import EmbeddedCluster
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode
from tests.reliability.answers.commands import talkative
from tests.reliability.answers.mutation import altered

_ADDRESS = re.compile(rb"127\.0\.0\.1:(\d+)")
_HOST = re.compile(rb"\x7f\x00\x00\x01\x00\x00(..)", re.DOTALL)
"""That of a record: address and port."""
_MOST_KEPT = 20_000


@dataclass(frozen=True)
class Lie:
    """How one run of a command is lied to; the same `name` tells the same lies.

    Attributes:
        share: of the kinds of requests whose answers are altered.
    """

    name: str
    share: float

    def meets(self, server: int, code: int) -> bool:
        """Whether it alters a server's answers to such requests."""
        return zlib.crc32(f"{self.name} {server} {code}".encode()) < self.share * (1 << 32)


class Proxy:
    """A listener for each server of a cluster, on a thread of its own; what addresses answers name are its own."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._upstream = [*cluster.namesrv.split(";"), *(broker.address for broker in cluster.brokers.values())]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._ports: dict[bytes, bytes] = {}
        self._kept: dict[object, RemotingCommand] = {}
        self._bodies: list[bytes] = [b"{}"]
        self._told: Counter[tuple[int, int]] = Counter()
        self._lie: Lie | None = None
        self._altered_count = 0
        count = len(cluster.namesrv.split(";"))
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        ours = [f"127.0.0.1:{self._ports[address.rpartition(':')[2].encode()].decode()}" for address in self._upstream]
        self.namesrv = ";".join(ours[:count])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def tell(self, lie: Lie | None) -> int:
        """Begins another run; returns how many answers were altered in the last one."""
        before, self._altered_count = self._altered_count, 0
        self._told.clear()
        self._lie = lie
        return before

    async def _listen(self) -> None:
        for number, address in enumerate(self._upstream):

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int = number) -> None:
                await self._serve(number, reader, writer)

            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            self._ports[address.rpartition(":")[2].encode()] = str(port).encode()

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = FrameDecoder()
        try:
            while data := await reader.read(1 << 16):
                for request in decoder.feed(data):
                    if request.is_response or request.is_oneway:
                        continue
                    said = self._said(number, await self._answer(number, request), request)
                    if said is not None:
                        writer.write(said)
                        if len(said) >= 4 and len(said) - 4 < int.from_bytes(said[:4], "big") and len(said) % 2:
                            writer.close()  # half of the frames that lack something end there, others are waited for
                            return
                        await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    def _said(self, number: int, answer: RemotingCommand, request: RemotingCommand) -> bytes | None:
        answer = replace(answer, opaque=request.opaque)
        lie = self._lie
        if lie is None or not lie.meets(number, request.code):
            return encode(answer)
        times = self._told[number, request.code]
        self._told[number, request.code] += 1
        self._altered_count += 1
        return altered(Random(f"{lie.name} {number} {request.code} {times}"), answer, self._bodies)

    async def _answer(self, number: int, request: RemotingCommand) -> RemotingCommand:
        key = (number, request.code, tuple(sorted((request.ext_fields or {}).items())), request.body)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        host, _, port = self._upstream[number].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(encode(request))
            decoder, commands = FrameDecoder(), list[RemotingCommand]()
            while not commands:
                data = await reader.read(1 << 16)
                if not data:
                    raise EOFError
                commands = [command for command in decoder.feed(data) if command.is_response]
        finally:
            writer.close()
        answer = replace(commands[0], body=_HOST.sub(self._our_host, _ADDRESS.sub(self._ours, commands[0].body)))
        if len(self._kept) < _MOST_KEPT:
            self._kept[key] = answer
            self._bodies.append(answer.body)
        return answer

    def _ours(self, found: re.Match[bytes]) -> bytes:
        return b"127.0.0.1:" + self._ports.get(found[1], found[1])

    def _our_host(self, found: re.Match[bytes]) -> bytes:
        port = str(int.from_bytes(found[1], "big")).encode()
        return found[0][:6] + int(self._ports.get(port, port)).to_bytes(2, "big")


class LyingCluster:
    """Such a process, as those who ask it see it."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "tests.reliability.answers.proxy"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.namesrv = self._out.readline().strip()

    def tell(self, lie: Lie | None) -> int:
        """Begins another run; returns how many answers were altered in the last one."""
        self._in.write(json.dumps(lie and vars(lie)) + "\n")
        self._in.flush()
        return int(self._out.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in.close()
        self._process.wait()
        self._out.close()


def main() -> None:
    """Serves until standard input ends: a line is the next lie."""
    logging.getLogger("embedded_broker").addHandler(logging.NullHandler())
    with talkative() as cluster, Proxy(cluster) as proxy:
        sys.stdout.write(f"{proxy.namesrv}\n")
        sys.stdout.flush()
        for line in sys.stdin:
            settings = json.loads(line)
            sys.stdout.write(f"{proxy.tell(Lie(**settings) if settings else None)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
