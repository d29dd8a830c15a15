"""Each configuration file of a broker, torn in every way: what it comes up with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedBroker, EmbeddedCluster
from mqctl.protocol.requests_client import UpdateConsumerOffset
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import AdminLedger, made
from tests.reliability.config_files import NAMES, FreshBroker, Survived, differences

_TEARS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: bytes(len(data)),
    lambda data: data[: len(data) // 2],
    lambda _: b"",
)


def _fill(broker: EmbeddedBroker) -> None:
    """Has every file written twice, so that each has a backup."""
    with Peer(broker.address) as peer:
        admin, random = AdminLedger(), Random(3)
        for _ in range(2):
            for _ in range(12):
                admin.change(peer, random, lambda: True)
            assert peer.call(send("Later", properties={"DELAY": "1"}), b"later").code == 0
            assert peer.call(send("Plain"), b"plain").code == 0
            assert peer.call(pull("Plain", 0, group="G")).code == 0
            peer.call(UpdateConsumerOffset(consumer_group="G", topic="Plain", queue_id=0, commit_offset=1))
            broker.cluster.advance(12_000)
        assert made(peer)


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_a_broker_comes_up_with_the_backup_or_anew(version: str, tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, data_dir=tmp_path, version=version) as cluster:
        broker = cluster.broker()
        with Peer(broker.address) as peer:
            fresh = FreshBroker.of(peer)
        _fill(broker)
        config = broker.store / "config"
        cases = 0
        for name in NAMES:
            broker.stop()
            kept = {path: path.read_bytes() for path in config.iterdir()}
            assert config / f"{name}.bak" in kept
            for tear in _TEARS:
                for torn in ((name,), (name, f"{name}.bak"), (f"{name}.bak",)):
                    for path, data in kept.items():
                        path.write_bytes(tear(data) if path.name in torn else data)
                    survived = Survived.read(config)
                    source = "none" if len(torn) > 1 else "backup" if torn == (name,) else "main"
                    assert survived.sources[source] == (len(NAMES) if source == "main" else 1)
                    broker.start()
                    with Peer(broker.address) as peer:
                        assert differences(survived, fresh, peer, broker) == []
                    broker.kill()
                    cases += 1
            for path, data in kept.items():
                path.write_bytes(data)
            broker.start()
        assert cases == len(NAMES) * len(_TEARS) * 3
