"""Who a client is: its id, and the unique ids of the messages it sends.

Source: `ClientConfig.buildMQClientId`, `changeInstanceNameToPID` and `MessageClientIDSetter` of 4.9.8.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime
from itertools import count
from struct import Struct
from threading import Lock
from time import perf_counter_ns

from mqctl.client.remoting.clock import ClientClock
from mqctl.protocol.message_id import UniqueId

DEFAULT_INSTANCE = "DEFAULT"
ROOM_SEPARATOR = "-"
_TAIL = Struct(">IH")
_SOME_ADDRESS = ("192.0.2.1", 9)  # nothing is sent there: connecting a datagram socket picks our own address


def local_ip() -> str:
    """Returns the IPv4 address from which this machine reaches others, 127.0.0.1 when it reaches none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOME_ADDRESS)
            address: str = probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"
    return address


def client_id(
    *,
    ip: str | None = None,
    instance: str = DEFAULT_INSTANCE,
    unit: str | None = None,
    room: str | None = None,
    stable: bool = False,
) -> str:
    """Builds a client id: `[room-]ip@instance[@unit]`.

    Args:
        instance: the default name becomes `pid#nanoseconds`, unlike any other client's; other names stay.
        stable: keep the default name.
        room: machine room of the client, written in front as rooms are in broker names (`HT-broker-a`).
    """
    name = f"{os.getpid()}#{perf_counter_ns()}" if instance == DEFAULT_INSTANCE and not stable else instance
    prefix = f"{room}{ROOM_SEPARATOR}" if room else ""
    suffix = f"@{unit}" if unit else ""
    return f"{prefix}{ip or local_ip()}@{name}{suffix}"


class MessageClientIds:
    """Makes the unique ids of one process' messages, as Java's do: address, process, loader, time in month, counter.

    Args:
        loader: any number that tells clients of one process apart; stands where Java has its class loader's hash.
    """

    def __init__(self, clock: ClientClock, *, ip: str | None = None, loader: int | None = None) -> None:
        self._clock = clock
        number = perf_counter_ns() & 0xFFFFFFFF if loader is None else loader
        self._prefix = str(UniqueId(ip or local_ip(), os.getpid(), number, 0, 0))[:-12]
        self._counter = count()
        self._lock = Lock()
        self._month_start_ms = 0
        self._month_end_ms = 0

    def next(self) -> str:
        """Returns the next id."""
        return self._prefix + _TAIL.pack(self._span_ms(), next(self._counter) & 0xFFFF).hex().upper()

    def take(self, many: int) -> list[str]:
        """Returns the next ids, those of a batch: with one look at the clock."""
        head, counter = f"{self._prefix}{self._span_ms():08X}", self._counter
        return [f"{head}{next(counter) & 0xFFFF:04X}" for _ in range(many)]

    def _span_ms(self) -> int:
        """Returns how far the month is."""
        now_ms = self._clock.now_ms()
        if not self._month_start_ms <= now_ms < self._month_end_ms:
            with self._lock:
                self._enter_month(now_ms)
        return (now_ms - self._month_start_ms) & 0xFFFFFFFF

    def _enter_month(self, now_ms: int) -> None:
        now = datetime.fromtimestamp(now_ms / 1000).astimezone()
        start = datetime(now.year, now.month, 1)  # noqa: DTZ001 - months begin in the zone of the producer
        following = datetime(now.year + now.month // 12, now.month % 12 + 1, 1)  # noqa: DTZ001
        self._month_start_ms = int(start.timestamp() * 1000)
        self._month_end_ms = int(following.timestamp() * 1000)
