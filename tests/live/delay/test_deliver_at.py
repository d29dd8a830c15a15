"""`delay plan`, `delay relay`, `message send --deliver-at`: by timer where brokers have them, else by a relay."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import time

import msgspec
import pytest

from docs.schemas import SCHEMAS
from embedded_broker import EmbeddedCluster
from mqctl.commands.delay.plan_view import RelayReport
from mqctl.protocol.message_record import decode_messages
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import pull
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

pytestmark = pytest.mark.slow

_SECONDS = 60


@pytest.fixture
def relay(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A running relay; it is ended by SIGTERM."""
    command = [sys.executable, "-m", "mqctl", "delay", "relay", "--namesrv", cluster.namesrv, "-o", "json"]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "relaying" in line:
            break
    drain = Thread(target=process.stderr.read)
    drain.start()
    yield process
    process.kill()
    drain.join()
    process.communicate()


def arrived(cluster: EmbeddedCluster, body: bytes) -> int:
    """Waits for a message in any queue of Pay and returns when it was stored."""
    arrivals: list[int] = []

    def look() -> bool:
        for name in ("broker-a", "broker-b"):
            with Peer(cluster.broker(name).address) as peer:
                for queue_id in (0, 1):
                    answer = peer.call(pull("Pay", 0, queue_id=queue_id))
                    messages = decode_messages(answer.body) if answer.code == 0 else ()
                    arrivals.extend(message.store_time_ms for message in messages if message.body == body)
        return bool(arrivals)

    wait_until(look, "it comes", every_s=0.05)
    return arrivals[0]


@pytest.mark.both_releases
def test_a_message_comes_at_its_moment_by_timer_or_by_relay(
    live: Run, cluster: EmbeddedCluster, relay: subprocess.Popen[str]
) -> None:
    moment = round(time() * 1000) + 6_000
    sent = live("message", "send", "-t", "Pay", "--body", "later", "--deliver-at", moment, "-o", "json")
    five = cluster.spec.version.startswith("5")
    assert (sent.exit_code, sent.json["way"]) == (0, "timer" if five else "relay"), sent.stderr
    assert arrived(cluster, b"later") >= moment - (1_000 if five else 10), "timers of 5.x count in whole seconds"
    relay.send_signal(signal.SIGTERM)
    out, _ = relay.communicate(timeout=_SECONDS)
    assert relay.returncode == 0
    document = json.loads(out)
    assert document.pop("schema") == "delay.relay/1"
    report: RelayReport = msgspec.convert(document, SCHEMAS["delay.relay/1"], strict=True)
    assert report == RelayReport(relayed_count=report.relayed_count, delivered_count=0 if five else 1, failed_count=0)


def test_without_timer_and_relay_it_is_refused_not_left_lying(live: Run, cluster: EmbeddedCluster) -> None:
    words = ("message", "send", "-t", "Pay", "--body", "later", "-o", "json", "--deliver-at")
    outcome = live(*words, "+30d")
    assert (outcome.exit_code, "mqctl delay relay" in outcome.stderr) == (76, True)
    past = live(*words, "-1h")
    assert (past.exit_code, past.json["way"], "sent at once" in past.stderr) == (0, None, True)
    assert live(*words, "+1h", "--delay-level", 3).exit_code == 64
    assert live(*words, "when I like").exit_code == 64


@pytest.mark.both_releases
def test_a_plan_names_the_hops_and_whether_timers_do_it(live: Run, cluster: EmbeddedCluster) -> None:
    plan = live("delay", "plan", "--at", "+100min", "-o", "json").json
    assert [(hop["level"], hop["delay_ms"]) for hop in plan["hops"]] == [
        (17, 3_600_000),
        (16, 1_800_000),
        (14, 600_000),
    ]
    assert plan["native_timer"] == cluster.spec.version.startswith("5")
    assert live("delay", "plan", "--at", "+30d", "-o", "json").json["native_timer"] is False
    assert live("delay", "plan", "--at", "-1h").exit_code == 64
    assert live("delay", "plan", "--at", "+1h", "--levels", "1s  5s").exit_code == 64
