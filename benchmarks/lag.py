"""Lag of all groups of a large cluster: `python -m benchmarks.lag [--groups 2000] [--rounds 5]`.

Two embedded brokers in a process of their own hold the groups; each group has offsets on the eight queues of one of a
hundred topics, and is behind on them. Measured: the whole process `mqctl group lag`, wall clock and CPU, start-up
included; and how many requests the brokers had unanswered at most on one connection.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import IN_FLIGHT, AddressedQuestion
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig

TOPICS, QUEUES = 100, 4
_LIMIT_MS = 300_000


@contextmanager
def cluster_of(groups: int, topics: int = TOPICS) -> Iterator[str]:
    """Gives the name server of a cluster with so many groups, which share so many topics."""
    words = [sys.executable, "-m", "embedded_broker", "--memory", "--brokers", "2"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        namesrv = str(json.loads(process.stdout.readline())["namesrv"])
        with Cluster(namesrv) as cluster:
            for broker in cluster.masters():
                for number in range(topics):
                    topic = TopicConfig(name=f"T{number}", read_queue_count=QUEUES, write_queue_count=QUEUES)
                    cluster.ask(broker.address, put_topic(topic))
            asks = [
                AddressedQuestion(broker.address, question)
                for broker in cluster.masters()
                for number in range(groups)
                for question in (
                    put_group(SubscriptionGroupConfig(name=f"G{number}")),
                    *(commit_offset(f"G{number}", f"T{number % topics}", queue, 0) for queue in range(QUEUES)),
                )
            ]
            for outcome in cluster.ask_many(asks, Deadline(_LIMIT_MS)):
                outcome.value()
        with Producer("P", ClientSettings(name_servers=namesrv)) as producer:
            for number in range(topics):
                for _ in range(2 * QUEUES):
                    producer.send(OutgoingMessage(topic=f"T{number}", body=b"x"))
        yield namesrv
    finally:
        process.terminate()
        process.wait()


def measure(namesrv: str) -> tuple[float, float, int]:
    """Runs the command; returns wall seconds, CPU seconds, and the number of groups it showed."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "mqctl", "group", "lag", "--namesrv", namesrv, "-o", "json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    took_s = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"mqctl ended with {process.returncode}")
    return took_s, usage.ru_utime + usage.ru_stime, len(json.loads(text)["groups"])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    with cluster_of(wanted.groups) as namesrv:
        runs = [measure(namesrv) for _ in range(wanted.rounds)]
    walls, cpus, shown = zip(*runs, strict=True)
    wall_s, cpu_s = statistics.median(walls), statistics.median(cpus)
    print(f"{shown[0]} groups of {2 * QUEUES} queues on 2 brokers, at most {IN_FLIGHT} requests in flight at each")
    print(f"mqctl group lag: {wall_s:.2f} s (CPU {cpu_s:.2f} s), median of {wanted.rounds}")


if __name__ == "__main__":
    main()
