"""Memory of one broker with very many queues and connections."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

from mqctl.protocol.frame import FrameDecoder, encode
from mqctl.protocol.requests_client import SendMessageV2

_CONNECTIONS = 2_000
_TOPICS, _QUEUES = 12_500, 8
_IN_FLIGHT = 256


def measure_scale() -> None:
    """Creates 12,500 topics of 8 queues with a message in each queue, then 2,000 connections that say nothing."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    process = subprocess.Popen([sys.executable, "-m", "embedded_broker"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        host, _, port = json.loads(process.stdout.readline())["brokers"][0]["address"].rpartition(":")
        began = time.perf_counter()
        _fill(host, int(port))
        took = time.perf_counter() - began
        print(f"{_TOPICS * _QUEUES} queues with one message each after {took:.1f} s: {_memory(process.pid):.0f} MiB")
        silent = [socket.create_connection((host, int(port))) for _ in range(_CONNECTIONS)]
        _fill(host, int(port), topics=1)
        print(f"and {len(silent)} idle connections: {_memory(process.pid):.0f} MiB")
        for connection in silent:
            connection.close()
    finally:
        process.terminate()
        process.wait()


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def _fill(host: str, port: int, *, topics: int = _TOPICS) -> None:
    with socket.create_connection((host, port)) as connection:
        decoder = FrameDecoder()
        in_flight = 0
        for number in range(topics * _QUEUES):
            request = SendMessageV2(
                producer_group="bench", topic=f"Topic{number // _QUEUES}", default_topic="TBW102",
                default_topic_queue_nums=_QUEUES, queue_id=number % _QUEUES, sys_flag=0, born_timestamp=0, flag=0,
                properties="WAIT\x01true",
            )  # fmt: skip
            connection.sendall(encode(request.command(opaque=number, body=b"x" * 100)))
            in_flight += 1
            while in_flight >= _IN_FLIGHT or (number == topics * _QUEUES - 1 and in_flight):
                for answer in decoder.feed(connection.recv(1 << 16)):
                    if answer.code != 0:
                        raise SystemExit(f"refused: {answer.code} {answer.remark}")
                    in_flight -= 1
