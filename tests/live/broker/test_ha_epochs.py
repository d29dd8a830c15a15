"""Where epochs cut a slave under a controller, live and from a snapshot (requests 1005 to 1007 are a controller's)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from embedded_broker import Answer, EmbeddedCluster
from tests.client.consuming import wait_until
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.doctor.test_controllers import IN_SYNC, controller

Run = Callable[..., Outcome]
MASTER, SLAVE = "broker-a", "broker-a-s"
ENDLESS = (1 << 63) - 1


def epochs(broker_id: int, *starts: tuple[int, int]) -> Answer:
    """An answer to 1007 as a 5.3.3 broker gives it."""
    ends = [start for _, start in starts[1:]] + [ENDLESS]
    entries = [
        {"endOffset": end, "epoch": epoch, "startOffset": start}
        for (epoch, start), end in zip(starts, ends, strict=True)
    ]
    body = {"brokerId": broker_id, "brokerName": MASTER, "clusterName": "DefaultCluster", "epochList": entries}
    return Answer(0, body=json.dumps({**body, "maxOffset": 0}).encode())


def test_where_epochs_cut_a_slave_is_told_live_and_by_a_snapshot(mqctl: Run, tmp_path: Path) -> None:
    saved = tmp_path / "now.mqsnap"
    with EmbeddedCluster(version="5.3.3", slaves=1) as cluster, controller(IN_SYNC) as leader:
        at = ("--namesrv", cluster.namesrv, "--timeout", "10s")
        with Peer(cluster.broker(MASTER).address) as peer:
            for _ in range(3):
                assert peer.call(send("T"), b"x" * 100).code == 0
        ends = [cluster.broker(name) for name in (MASTER, SLAVE)]
        wait_until(lambda: len({broker.on_loop(lambda it: it.storage.log.position) for broker in ends}) == 1)
        end = ends[0].on_loop(lambda broker: broker.storage.log.position)
        settings = {"enableControllerMode": "true", "controllerAddr": leader.address}
        for broker in ends:
            broker.on_loop(lambda running: running.change_settings(settings))
        cluster.fault(1007, epochs(0, (1, 0), (5, 100)), server=MASTER)
        fits = cluster.fault(1007, epochs(1, (1, 0), (5, 100)), server=SLAVE)
        assert "is cut to" not in mqctl("ha", "status", *at).stdout and fits.hits
        cluster.clear_faults()
        cluster.fault(1007, epochs(0, (1, 0), (5, 100)), server=MASTER)
        cluster.fault(1007, epochs(1, (1, 0), (4, 200)), server=SLAVE)
        live = mqctl("ha", "status", *at)
        assert mqctl("snapshot", "save", saved, *at).exit_code == 0
    said = f"By its epochs slave 1 of broker-a is cut to 100 when it connects: {end - 100:,} bytes go."
    assert said in live.stdout, live
    assert said in mqctl("ha", "status", "--snapshot", saved).stdout
    (slave,) = [
        row for row in mqctl("ha", "status", "--snapshot", saved, "-o", "json").json["replicas"] if row["broker_id"]
    ]
    assert (slave["epochs"], slave["epochs_meet_at"]) == ("1@0, 4@200", 100)
