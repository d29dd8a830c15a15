"""A process that appends to a store, its lock held, until stdin ends; it says `writing` once there is something.

Usage: python -m tests.embedded_broker.append_until_closed DIRECTORY
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Storage
from embedded_broker.log.store_lock import StoreLock
from mqctl.store.record_writer import Incoming

SETTINGS = StoreSettings(mapped_file_size_commit_log=1 << 20, max_hash_slot_num=1_000, max_index_num=4_000)
_ENOUGH = 60_000


def main(root: Path) -> None:
    root.mkdir(parents=True)
    lock = StoreLock(root)
    lock.acquire()
    clock = VirtualClock()
    storage = Storage(root, SETTINGS, clock)
    storage.open()
    number = 0
    while not select.select([sys.stdin], [], [], 0 if number < _ENOUGH else 0.01)[0]:
        for _ in range(37 if number < _ENOUGH else 1):
            number += 1
            storage.append(
                Incoming(
                    topic=f"Topic{number % 3}",
                    queue_id=number % 4,
                    body=b"%d" % number * (number % 40),
                    properties=f"KEYS\x01k{number}\x02TAGS\x01Tag{number % 5}",
                    born_host="192.0.2.2:40001",
                    store_host="127.0.0.1:10911",
                    born_ms=clock.now_ms(),
                )
            )
        if number % 5 or number >= _ENOUGH:
            storage.dispatcher.write_out()
        if number == 37:
            os.write(1, b"writing\n")
    storage.close()
    lock.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
