"""Readers of a store's files: one damaged file in a small store or by itself, and a broker that starts on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Storage
from mqctl.protocol.bodies_client import HeartbeatData  # noqa: F401 - bodies that config readers share
from mqctl.rules import diagnose
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.snapshot.store.lag import gather_lag
from mqctl.store.checkpoint import parse_checkpoint
from mqctl.store.directory import StoreDirectory
from mqctl.store.index_file import IndexFile
from mqctl.store.record_writer import Incoming
from mqctl.store.timer import chain, read_timer_check, timer_log, used_slots
from mqctl.store.verify import verify
from tests.reliability.fuzz import corpus
from tests.reliability.fuzz.engine import Target
from tests.snapshot.test_any_damage import CONFIG, START, small_store

_SHAPE = StoreSettings(
    mapped_file_size_commit_log=4_096, mapped_file_size_consume_queue=400, max_hash_slot_num=1_024, max_index_num=4_096
)
_FIRST = f"{0:020d}"


@cache
def _scratch() -> Path:
    """A directory in memory where there is one; the process leaves it behind only when it is killed."""
    import atexit

    directory = Path(mkdtemp(prefix="mqctl-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@cache
def _intact() -> Path:
    return small_store(_scratch() / "intact")


def _with(path: str, data: bytes) -> Path:
    """A copy of the small store in which one file is `data`."""
    root = _scratch() / "store"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(_intact(), root)
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return root


def judged(path: str) -> Callable[[bytes], None]:
    """Reads everything that the commands read of a store, and judges it."""

    def read(data: bytes) -> None:
        root = _with(path, data)
        store = StoreDirectory.open(root)
        verify(store)
        for topic, queue_id in store.queue_ids():
            queue = store.consume_queue(topic, queue_id)
            entries = queue.entries()
            store.consume_queue_ext(topic, queue_id).resolve(entries["tags_code"])
            store.commit_log.store_times(entries["physical_offset"])
        diagnose(gather_store(root, at_ms=START + 60_000))
        gather_lag(root)

    return read


def configs(data: bytes) -> None:
    """The same bytes as every configuration file and its backup."""
    root = _with("config/topics.json", data)
    for name in (*CONFIG, "consumerOrderInfo.json", "topicQueueMapping.json", "lmqConsumerOffset.json"):
        for suffix in ("", ".bak"):
            (root / "config" / f"{name}{suffix}").write_bytes(data)
    diagnose(gather_store(root, at_ms=START + 60_000, deep=False))
    gather_lag(root)


def index(data: bytes) -> None:
    path = _scratch() / "20261120233502127"
    path.write_bytes(data)
    for slots in (None, 1_024):
        file = IndexFile(path, slots=slots)
        file.lookup("Pay", "k1")
        assert len(file.entries) <= len(data)


def batch_queue(data: bytes) -> None:
    root = _scratch() / "batch"
    queue = root / "batchconsumequeue" / "T" / "0"
    queue.mkdir(parents=True, exist_ok=True)
    (queue / _FIRST).write_bytes(data)
    batch_entries = StoreDirectory.open(root).batch_consume_queue("T", 0)
    assert batch_entries.max_offset >= 0
    assert batch_entries.min_offset(0) >= 0


def timers(data: bytes) -> None:
    """The same bytes as wheel, log and checkpoint of timers."""
    root = _scratch() / "timers"
    (root / "timerlog").mkdir(parents=True, exist_ok=True)
    for path in (root / "timerwheel", root / "timerlog" / _FIRST, root / "timercheck"):
        path.write_bytes(data)
    slots = used_slots(root / "timerwheel")
    positions, records = timer_log(root / "timerlog")
    for slot in slots[:50]:
        assert len(chain(int(slot["last_pos"]), positions, records)) <= len(positions)
    read_timer_check(root / "timercheck")


def recovery(data: bytes) -> None:
    """A broker's storage that starts on a damaged log: it refuses by name, or it works, and its log is sound then."""
    root = _with(f"commitlog/{_FIRST}", data[:4_096].ljust(4_096, b"\0"))
    (root / "abort").touch()
    shutil.rmtree(root / "index")
    storage = Storage(root, _SHAPE, VirtualClock(START))
    try:
        storage.open()
        _append(storage)
    except BaseException:
        storage.abandon()
        raise
    storage.close()


def recovery_queue(data: bytes) -> None:
    """The same with a damaged consume queue."""
    root = _with(f"consumequeue/Pay/0/{_FIRST}", data[:400].ljust(400, b"\0"))
    (root / "abort").touch()
    shutil.rmtree(root / "index")
    storage = Storage(root, _SHAPE, VirtualClock(START))
    try:
        storage.open()
        _append(storage)
    except BaseException:
        storage.abandon()
        raise
    storage.close()


def _append(storage: Storage) -> None:
    message = Incoming(
        topic="Pay", queue_id=0, body=b"new", properties="TAGS\x01a\x02KEYS\x01new", born_host="127.0.0.1:1",
        store_host="127.0.0.1:2", born_ms=START,
    )  # fmt: skip
    done = storage.append(message)
    record = storage.message_at(done.physical_offset)
    assert record is not None
    assert record.count(b"new") == 2
    assert storage.max_offset("Pay", 0) == done.queue_offset + 1


def _of_small(path: str) -> tuple[bytes, ...]:
    return ((_intact() / path).read_bytes(),)


def _indexes() -> tuple[bytes, ...]:
    return tuple(path.read_bytes()[:8_192] for path in sorted((_intact() / "index").iterdir()))


def _timer_seeds() -> tuple[bytes, ...]:
    recorded = corpus.recorded_pieces("timer") + corpus.recorded_pieces("config/timercheck")
    slot = np.array([1_700_000_000_000, 0, 52, 1, 0], dtype=">i8").tobytes()[:32]
    return (*recorded, slot * 3, bytes(4_096))


_LOG_WORDS = (
    b"\xda\xa3\x20\xa7",
    b"\xda\xa3\x20\xab",
    b"\xcb\xd4\x31\x94",
    b"\x7f\xff\xff\xff",
    b"\x02",
    b"\x01",
    b"/..",
)
TARGETS = (
    Target(
        "commit-log",
        lambda: (*_of_small(f"commitlog/{_FIRST}"), *corpus.recorded_pieces("commitlog/")),
        judged(f"commitlog/{_FIRST}"), _LOG_WORDS, 0.05,
    ),
    Target(
        "consume-queue",
        lambda: (*_of_small(f"consumequeue/Pay/0/{_FIRST}"), *corpus.recorded_pieces("consumequeue/")),
        judged(f"consumequeue/Pay/0/{_FIRST}"), (b"\x7f\xff\xff\xff", b"\x80" + bytes(7), b"\xff" * 8), 0.05,
    ),
    Target(
        "queue-extension", lambda: corpus.recorded_pieces("consumequeue_ext/"),
        judged(f"consumequeue_ext/Pay/0/{_FIRST}"), (b"\xff\xff", b"\x7f\xff"), 0.05,
    ),
    Target("checkpoint", lambda: corpus.recorded_pieces("checkpoint"), parse_checkpoint, weight=8),
    Target("index", lambda: (*_indexes(), *corpus.recorded_pieces("index/")), index, (b"\x7f\xff\xff\xff",)),
    Target("batch-queue", lambda: corpus.recorded_pieces("consumequeue/"), batch_queue, (b"\x7f\xff",)),
    Target("timer-files", _timer_seeds, timers, (b"\0\0\0\x34", b"\xff" * 8)),
    Target(
        "config-files", lambda: (*corpus.json_texts()[-20:], *(text.encode() for text in CONFIG.values())), configs,
        (b'{"offsetTable":', b'{"topicConfigTable":', b"null", b"{0:1}", b"-1", b"[", b"9" * 25), 0.1,
    ),
    Target("recovery-log", lambda: _of_small(f"commitlog/{_FIRST}"), recovery, _LOG_WORDS, 0.1),
    Target("recovery-queue", lambda: _of_small(f"consumequeue/Pay/0/{_FIRST}"), recovery_queue, (b"\x7f\xff",), 0.1),
)  # fmt: skip
