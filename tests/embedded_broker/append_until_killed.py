"""A process that appends to a store until it is killed, and says on stdout what it may acknowledge.

Usage: python -m tests.embedded_broker.append_until_killed DIRECTORY FLUSH_DISK_TYPE
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from embedded_broker.clock import VirtualClock
from embedded_broker.log.store import Storage
from tests.embedded_broker.test_storage import NOW_MS, SMALL, put_numbered

WRITE_OUT_EVERY = 37


def main(directory: Path, flush_disk_type: str) -> None:
    clock = VirtualClock(NOW_MS)
    storage = Storage(directory, replace(SMALL, flush_disk_type=flush_disk_type), clock)
    storage.open()
    number = sum(storage.max_offset("TopicTest", queue_id) for queue_id in range(3))
    clock.advance(number * 1_000)
    os.write(1, b"%d\n" % number)
    while True:
        put_numbered(storage, number)
        storage.when_durable(lambda failure, done=number: os.write(1, b"%d\n" % done))  # type: ignore[misc]
        number += 1
        if number % WRITE_OUT_EVERY == 0:
            clock.advance(700)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
