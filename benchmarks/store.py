"""What the embedded broker's store costs: CPU per message to append, to read, to recover, beside bare system calls.

`python benchmarks/store.py [--messages N] [--body BYTES] [--directory DIR]` prints microseconds of CPU a message and
the ratio to writing, or reading, the same bytes with nothing around. `--profile` adds where the time of appending goes.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Storage
from mqctl.model.java_hash import java_string_hash
from mqctl.store.record_writer import Incoming

NOW_MS = 1_795_218_000_000
QUEUES = 8
PULL = 32
TAGS_CODE = java_string_hash("TagA")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--body", type=int, default=1_024)
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        _measure(Path(name), given.messages, given.body, profile=given.profile)


def _measure(root: Path, messages: int, body_bytes: int, *, profile: bool) -> None:
    body = bytes(body_bytes)
    texts = [
        f"KEYS\x01key{number}\x02UNIQ_KEY\x01C00002020E905FFD2B2766E1{number:08X}\x02TAGS\x01TagA"
        for number in range(messages)
    ]
    bare_write, bare_read = _bare(root, messages, body_bytes + 200)
    _line("append, key and unique key indexed", _append(root / "indexed", texts, body, profile=profile), bare_write)
    plain = _append(root / "plain", texts, body, message_index_enable=False)
    _line("append, no index", plain, bare_write)
    storage = _store(root / "indexed")
    _line("recover after a clean stop", _cpu_us(storage.open, messages), bare_read)
    _line("read, queues in turn", _cpu_us(lambda: _drain(storage), messages), bare_read)
    storage.abandon()
    killed = _store(root / "indexed")
    _line("recover after a kill", _cpu_us(killed.open, messages), bare_read)
    killed.close()


def _line(what: str, cost_us: float, bare_us: float) -> None:
    print(f"{what:<38}{cost_us:8.2f} us/message {cost_us / bare_us:7.1f}x bare system calls")


def _cpu_us(work: Callable[[], object], messages: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6 / messages


def _bare(root: Path, messages: int, size: int) -> tuple[float, float]:
    """CPU per message of one `pwrite` each, and of one `pread` for every 32."""
    data = bytes(size)
    descriptor = os.open(root / "bare", os.O_RDWR | os.O_CREAT)

    def write() -> None:
        for number in range(messages):
            os.pwrite(descriptor, data, number * size)

    def read() -> None:
        for number in range(0, messages, PULL):
            os.pread(descriptor, size * PULL, number * size)

    costs = _cpu_us(write, messages), _cpu_us(read, messages)
    os.close(descriptor)
    return costs


def _store(root: Path, *, message_index_enable: bool = True) -> Storage:
    return Storage(root, StoreSettings(message_index_enable=message_index_enable), VirtualClock(NOW_MS))


def _append(
    root: Path, texts: list[str], body: bytes, *, message_index_enable: bool = True, profile: bool = False
) -> float:
    storage = _store(root, message_index_enable=message_index_enable)
    storage.open()

    def work() -> None:
        for number, text in enumerate(texts):
            message = Incoming(
                topic="TopicTest",
                queue_id=number % QUEUES,
                body=body,
                properties=text,
                born_host="192.0.2.2:40001",
                store_host="127.0.0.1:10911",
                born_ms=NOW_MS,
            )
            storage.append(message)
        storage.dispatcher.write_out()

    cost = _cpu_us(work, len(texts))
    if profile:
        profiler = cProfile.Profile()
        profiler.runcall(work)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(15)
    storage.close()
    return cost


def _drain(storage: Storage) -> None:
    for queue_id in range(QUEUES):
        offset = 0
        while offset < storage.max_offset("TopicTest", queue_id):
            offset = storage.read("TopicTest", queue_id, offset, max_count=PULL).next_offset


if __name__ == "__main__":
    main()
