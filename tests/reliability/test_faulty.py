"""The file layer under the rounds: every change that a broker makes to its store goes through it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH
from tests.embedded_broker.wire import Peer
from tests.reliability.disk_traffic import DiskTraffic, Ledger
from tests.reliability.disks import SETTINGS
from tests.reliability.faulty import faulty_files


def _contents(root: Path) -> dict[str, str]:
    """What is below `root`: a digest of each file, nothing for a directory."""
    return {
        str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in sorted(root.rglob("*"))
    }


@pytest.mark.parametrize(("version", "flush"), [("4.9.8", SYNC_FLUSH), ("5.3.3", ASYNC_FLUSH)])
def test_no_change_escapes_the_layer(version: str, flush: str, tmp_path: Path) -> None:
    random, ledger, seen = Random(5), Ledger(), set[str]()
    root = tmp_path.resolve()
    settings = {**SETTINGS, "flushDiskType": flush}
    with faulty_files(root, random) as files:
        before = _contents(root)

        def compare(what: str) -> None:
            """Holds what changed since the last time against what went through."""
            nonlocal before
            after = _contents(root)
            changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
            assert changed <= files.touched, f"{what}: {sorted(changed - files.touched)}"
            seen.update(changed)
            files.touched.clear()
            before = after

        with EmbeddedCluster(virtual_time=True, data_dir=root, version=version, settings=settings) as cluster:
            broker = cluster.broker()
            for end in (broker.kill, broker.stop):
                compare("start")
                with Peer(broker.address) as peer:
                    traffic = DiskTraffic(peer, cluster, random, ledger)
                    for number in range(50):
                        random.choice(traffic.kinds())()
                        ledger.admin.change(peer, random, lambda: True)
                        if number % 10 == 9:
                            traffic.advance(11_000)
                            broker.on_loop(lambda inner: inner.storage.flusher.stop())
                            broker.on_loop(lambda inner: inner.storage.flusher.start(None))
                            compare(f"step {number}")
                end()
                compare("end")
                broker.start()
            broker.on_loop(lambda inner: inner.storage.retention.delete_all_but_the_newest(1))
            compare("retention")
    parts = {Path(name).relative_to(root / "broker-a").parts[0] for name in seen if Path(name).name != "broker-a"}
    assert parts >= {"abort", "checkpoint", "commitlog", "config", "consumequeue", "index", "lock"}


def test_a_store_that_was_made_is_there_after_a_power_failure(tmp_path: Path) -> None:
    """What was acknowledged is nowhere when the directory of its file is not."""
    for survive in (0.0, 0.5):
        root = tmp_path / str(survive)
        root.mkdir()
        settings = {"flushDiskType": SYNC_FLUSH}
        with (
            faulty_files(root, Random(1)) as files,
            EmbeddedCluster(virtual_time=True, data_dir=root, settings=settings) as cluster,
        ):
            broker = cluster.broker()
            with Peer(broker.address) as peer:
                traffic = DiskTraffic(peer, cluster, Random(1), Ledger())
                for _ in range(5):
                    traffic.plain()
            broker.kill()
            files.lose_power(survive)
            assert (broker.store / "abort").exists()
            assert (broker.store / "config" / "topics.json").exists()
            broker.start()
            assert (
                broker.on_loop(lambda inner: sum(inner.storage.max_offset("Plain", number) for number in range(3))) == 5
            )
