"""A slave that is gone is missed, though its broker is registered; one that is back is not."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from tests.client.consuming import wait_until
from tests.live.conftest import Run


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_a_killed_slave_is_missed_until_it_is_back(mqctl: Run, release: str) -> None:
    with EmbeddedCluster(brokers=["broker-a"], slaves=1, version=release) as cluster:
        words = ("-n", cluster.namesrv)
        slave = cluster.broker("broker-a-s")

        def processes() -> int:
            with Cluster(cluster.namesrv) as client:
                return len(client.brokers(Deadline(60_000)))

        wait_until(lambda: processes() == 2, "the slave to register")
        assert mqctl("broker", "list", *words).exit_code == 0
        slave.kill()
        wait_until(lambda: processes() == 1, "the name server to drop the slave")
        for _ in range(2):  # a look forgets nothing
            outcome = mqctl("doctor", *words, "--only", "MQ145", "-o", "json")
            (finding,) = outcome.json["findings"]
            assert (outcome.exit_code, finding["code"], finding["subject"]) == (1, "MQ145", "broker-a")
            assert "Process 1 of broker-a" in finding["what"]
        assert "not registered any more" in mqctl("ha", "status", *words).stderr
        slave.start()
        wait_until(lambda: processes() == 2, "the slave to register again")
        assert mqctl("doctor", *words, "--only", "MQ145", "-o", "json").json["findings"] == []
        assert "not registered any more" not in mqctl("ha", "status", *words).stderr
