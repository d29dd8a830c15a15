"""What taking stacks costs: `python -m benchmarks.stack_capture`.

First the 50 instances of a group through a broker, one look at all of them under one deadline beside one after the
other: instances are connections that answer with the stacks of a Java consumer of 60 threads after 100 ms, as a JVM
does. Then the pause of a process while its stacks are taken, by number of threads: py-spy, py-spy without stopping it,
and a JVM's safepoint.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from embedded_broker import EmbeddedCluster
from mqctl.capture.local import LocalProcessDumps, Manner
from mqctl.capture.tools import SearchPath
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.gap import Part
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import list_brokers, masters_of
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.stacks import GroupLooks, read_sights
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer

INSTANCES, ANSWER_S, LIMIT_MS, ROUNDS = 50, 0.1, 60_000, 5
THREADS = (20, 100, 400)
_PYTHON = """
import sys, threading, time
def calls(depth):
    if depth:
        return calls(depth - 1)
    time.sleep(600)
for n in range(int(sys.argv[1])):
    words = {"args": (int(sys.argv[2]),), "name": f"ConsumeMessageThread_g_{n}", "daemon": True}
    threading.Thread(target=calls, **words).start()
print("ready", flush=True)
sys.stdin.read()
"""
_JAVA = """
public class Sleepers {
    public static void main(String[] words) throws Exception {
        for (int n = 0; n < Integer.parseInt(words[0]); n++) {
            Thread one = new Thread(() -> { try { Thread.sleep(600_000); } catch (InterruptedException e) { } },
                                    "ConsumeMessageThread_g_" + n);
            one.setDaemon(true);
            one.start();
        }
        System.out.println("ready");
        System.in.read();
    }
}
"""


def java_stacks(threads: int = 60) -> str:
    """Returns stacks as a Java consumer sends them."""
    frames = [
        "java.net.SocketInputStream.socketRead0(SocketInputStream.java:-2)",
        *(f"com.example.order.Service.step{n}(Service.java:{n})" for n in range(25)),
        "java.lang.Thread.run(Thread.java:750)",
    ]
    parts = []
    for number in range(threads):
        name = f"ConsumeMessageThread_{number}".ljust(40)
        lines = [f"{name}TID: {number} STATE: RUNNABLE", *(f"{name}{frame}" for frame in frames)]
        parts.append("\n".join(lines) + "\n\n")
    return "".join(parts)


def answer(peer: Peer, body: bytes) -> None:
    """Answers as an instance does, until its connection ends."""
    try:
        while True:
            request = peer.receive(lambda it: it.code == RequestCode.GET_CONSUMER_RUNNING_INFO, seconds=LIMIT_MS)
            time.sleep(ANSWER_S)
            peer.socket.sendall(encode(request.answer(ResponseCode.SUCCESS, body=body)))
    except OSError:
        return


def group() -> None:
    """Times one look at all instances, and one at each in turn."""
    body = ConsumerRunningInfo(jstack=java_stacks()).to_bytes()
    with EmbeddedCluster(brokers=2) as brokers, Cluster(brokers.namesrv) as cluster:
        peers = []
        for number in range(INSTANCES):
            for name in brokers.brokers:
                peer = Peer(brokers.broker(name).address)
                heartbeat(peer, f"10.0.0.{number}@one", group="G", subscriptions={"T": "*"})
                threading.Thread(target=answer, args=(peer, body), daemon=True).start()
                peers.append(peer)
        asking = Asking(cluster, Deadline(LIMIT_MS))
        known = masters_of(list_brokers(asking, cluster.brokers(), Scope()))
        memberships = gather_memberships(asking, known, Scope(groups=frozenset({"G"})))
        looks = GroupLooks(cluster=cluster, group="G", brokers=known, memberships=memberships)

        started = time.monotonic()
        look = looks.look(Deadline(LIMIT_MS), 0)
        all_s = time.monotonic() - started
        read_started = time.process_time()
        threads = sum(len(sight.dump.threads) for sight in read_sights(look).sights if sight.dump)
        read_s = time.process_time() - read_started
        assert len(look.sights) == INSTANCES, [gap for gap in look.unavailable if gap.part is Part.RUNNING_INFO]

        started = time.monotonic()
        for number in range(INSTANCES):
            one = GroupLooks(
                cluster=cluster, group="G", brokers=known, memberships=memberships, client_id=f"10.0.0.{number}@one"
            )
            one.look(Deadline(LIMIT_MS), 0)
        each_s = time.monotonic() - started
        print(
            f"{INSTANCES} instances, each answering in {ANSWER_S * 1000:.0f} ms: all at once {all_s:.2f} s, one after "
            f"the other {each_s:.2f} s ({each_s / all_s:.0f} times as long); reading {threads:,} threads: "
            f"{read_s:.2f} s of CPU"
        )
    for peer in peers:
        peer.socket.close()


def pauses() -> None:
    """Measures how long a process stands still for a dump."""
    print(f"{'process':<22}{'threads':>8}{'pause ms':>10}{'a thread':>10}{'took ms':>9}")
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "Sleepers.java").write_text(_JAVA)
        java = subprocess.run(["javac", "-d", place, f"{place}/Sleepers.java"], check=False).returncode == 0
        for threads in THREADS:
            python = [sys.executable, "-c", _PYTHON, str(threads), "1"]
            measure("py-spy", python, threads)
            measure("py-spy, 40 calls", [*python[:-1], "36"], threads)
            measure("py-spy --native", python, threads, native=True)
            measure("py-spy --nonblocking", python, threads, nonblocking=True)
            if java:
                measure("jcmd Thread.print -l", ["java", "-Xmx64m", "-cp", place, "Sleepers", str(threads)], threads)


def measure(what: str, words: list[str], threads: int, *, native: bool = False, nonblocking: bool = False) -> None:
    """Takes a few dumps of one process and prints their medians."""
    manner = Manner(native=native, nonblocking=nonblocking, search=SearchPath(path=os.environ["PATH"]))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        source = LocalProcessDumps(process.pid, manner, now_ms=lambda: round(time.time() * 1000))
        shots = [source.take(Deadline(LIMIT_MS)) for _ in range(ROUNDS)]
        process.kill()
    paused = [shot.dump.pause_ms for shot in shots if shot.dump.pause_ms is not None]
    took_ms = median(shot.took_ms for shot in shots)
    if not paused:
        print(f"{what:<22}{threads:>8}{'?':>10}{'?':>10}{took_ms:>9.0f}")
        return
    print(f"{what:<22}{threads:>8}{median(paused):>10.1f}{median(paused) / threads:>10.3f}{took_ms:>9.0f}")


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # the instances all leave at once
    group()
    pauses()
