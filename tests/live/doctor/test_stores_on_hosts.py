"""A store against its host: what its process has open and may, what was deleted under it, where it lies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from embedded_broker import EmbeddedBroker
from mqctl.store.host import file_system_of
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

Mqctl = Callable[..., Outcome]
_MEMORY = Path("/dev/shm")
# Holds a store as a broker does, in a process of its own: its limit of open files is its own, too.
_HOLDER = """
import fcntl, os, resource, sys
store, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
lock = open(os.path.join(store, "lock"), "r+b")
fcntl.lockf(lock, fcntl.LOCK_EX, 1)
queues = os.walk(os.path.join(store, "consumequeue"))
held = [open(os.path.join(root, name), "rb") for root, _, names in queues for name in names]
print(len(held), flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(store: Path, *, limit: int = 1_000) -> Iterator[int]:
    """Holds a store; yields how many files of its consume queues are open."""
    (store / "lock").touch()
    command = [sys.executable, "-S", "-c", _HOLDER, str(store), str(limit)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        yield int(holder.stdout.readline())
        holder.stdin.close()


def findings(mqctl: Mqctl, store: Path, *codes: str) -> dict[str, dict[str, Any]]:
    only = [word for code in codes for word in ("--only", code)]
    outcome = mqctl("doctor", "--store", store, *only, "-o", "json")
    assert outcome.json["not_judged"] == [], outcome.json["not_judged"]
    return {item["code"]: item for item in outcome.json["findings"]}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells it")
def test_a_process_that_may_open_no_more_files_is_named(mqctl: Mqctl, store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-clean")
    with holding(store, limit=4_000):
        assert findings(mqctl, store, "MQ109", "MQ122") == {}
    places = ("commitlog", "consumequeue", "consumequeue_ext", "index")
    count = sum(len(files) for place in places for _, _, files in os.walk(store / place))
    with holding(store, limit=count + 1) as held:
        (finding,) = findings(mqctl, store, "MQ109", "MQ122").values()
    evidence = finding["evidence"]
    assert (finding["code"], evidence["limit_count"], evidence["file_count"]) == ("MQ109", count + 1, count)
    assert held < evidence["open_count"] < held + 10
    assert "RLIMIT_NOFILE" in finding["what"]
    assert findings(mqctl, store, "MQ109") == {}  # nobody holds it any more: no limit is known


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells it")
def test_files_deleted_under_a_running_broker_are_named(mqctl: Mqctl) -> None:
    with EmbeddedBroker() as broker:
        with Peer(broker.address) as peer:
            assert peer.call(send("TBW102", properties={}), b"x" * 9_000).code == 0
        assert findings(mqctl, broker.store, "MQ122") == {}
        (log,) = (broker.store / "commitlog").iterdir()
        kept = broker.store.with_name("kept")
        shutil.copy2(log, kept)
        log.unlink()
        finding = findings(mqctl, broker.store, "MQ122")["MQ122"]
        assert finding["severity"] == "error"
        assert (finding["names"]["file"], finding["evidence"]["file_count"]) == (f"commitlog/{log.name}", 1)
        assert finding["evidence"]["size_bytes"] >= 9_000
        kept.rename(log)
        assert "commitlog" in findings(mqctl, broker.store, "MQ122")["MQ122"]["what"]  # a copy is another file


@pytest.mark.skipif(sys.platform != "linux" or file_system_of(_MEMORY) != "tmpfs", reason="no tmpfs at /dev/shm")
def test_a_broker_that_writes_into_memory_is_named_and_a_copy_there_is_not(
    mqctl: Mqctl, store_copy: Callable[[str], Path]
) -> None:
    with TemporaryDirectory(dir=_MEMORY) as directory:
        store = Path(directory) / "store"
        shutil.copytree(store_copy("store-clean"), store)
        assert findings(mqctl, store, "MQ121") == {}
        with holding(store):
            finding = findings(mqctl, store, "MQ121")["MQ121"]
    assert (finding["severity"], finding["names"]["file_system"]) == ("warning", "tmpfs")
