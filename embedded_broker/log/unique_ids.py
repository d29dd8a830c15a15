"""Unique ids that a 5.x broker gives to messages without one (`MessageClientIDSetter.createUniqID`)."""

from __future__ import annotations

import os
from datetime import datetime
from itertools import count

from embedded_broker.clock import Clock
from mqctl.protocol.message_record import pack_host

_IP_BYTES = 4


class UniqueIds:
    """Address, process, loader, milliseconds since the month began, counter: 32 hexadecimal digits."""

    def __init__(self, clock: Clock, ip: str) -> None:
        self._clock = clock
        host = pack_host(f"{ip}:0")[:_IP_BYTES]
        loader = id(self) & 0xFFFFFFFF
        self._start = f"{host.hex()}{os.getpid() & 0xFFFF:04x}{loader:08x}".upper()
        self._counter = count()

    def next(self) -> str:
        """Returns the next id."""
        now_ms = self._clock.now_ms()
        now = datetime.fromtimestamp(now_ms / 1000).astimezone()
        month = datetime(now.year, now.month, 1)  # noqa: DTZ001 - months begin in the zone of the broker
        since_ms = max(0, now_ms - int(month.timestamp() * 1000)) & 0xFFFFFFFF
        return f"{self._start}{since_ms:08X}{next(self._counter) & 0xFFFF:04X}"
