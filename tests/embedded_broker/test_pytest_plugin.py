from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY

_TESTS = """
from embedded_broker import EmbeddedBroker, EmbeddedCluster
from mqctl.protocol.requests_client import GetMaxOffset
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

SEEN = []

def test_one(mq_broker: EmbeddedBroker) -> None:
    assert set(mq_broker.cluster.brokers) == {"HT-a", "HT-b"}
    with Peer(mq_broker.address) as peer:
        assert peer.call(send("T"), b"x").code == 0
    SEEN.append(mq_broker.namesrv)

def test_another_finds_it_empty_at_the_same_place(mq_cluster: EmbeddedCluster) -> None:
    assert [mq_cluster.namesrv] == SEEN
    with Peer(mq_cluster.broker().address) as peer:
        assert peer.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "0"
"""


def test_the_fixtures_give_an_empty_cluster_to_every_test(tmp_path: Path) -> None:
    (tmp_path / "test_application.py").write_text(_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmq_brokers = HT-a HT-b\n")
    # Where the package is installed, pytest has the plugin by its entry point, and would refuse it a second time.
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "embedded_broker.testing.pytest_plugin",
         "--rootdir", str(tmp_path), "."],
        cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
