"""A dump of 100 MB is read in bounded memory, and what was left out is said."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow

_PROBE = """
import io, json, pathlib, resource, sys
from mqctl.stacks.group import report_threads
from mqctl.stacks.parse import read_stream

class Made(io.RawIOBase):
    def __init__(self, blocks, size):
        self.blocks, self.left, self.kept, self.served = blocks, size, b"", 0
    def readable(self):
        return True
    def readinto(self, buffer):
        while len(self.kept) < len(buffer) and self.left > 0:
            block = next(self.blocks)
            self.left -= len(block)
            self.kept += block
        part, self.kept = self.kept[: len(buffer)], self.kept[len(buffer) :]
        buffer[: len(part)] = part
        self.served += len(part)
        return len(part)

def usual():
    number = 0
    while True:
        number += 1
        calls = b"".join(b"\\tat shop.orders.Step%d.run(Step.java:%d)\\n" % (call, call) for call in range(60))
        yield b'"ConsumeMessageThread_G_%d" #%d tid=0x1 nid=%d runnable\\n' % ((number,) * 3) + calls + b"\\n"

def distinct():
    number = 0
    while True:
        number += 1
        calls = b"".join(b"\\tat shop.orders.Step%d_%d.run(Step.java:1)\\n" % (number, call) for call in range(60))
        yield b'"ConsumeMessageThread_G_%d" #%d tid=0x1 nid=%d runnable\\n' % ((number,) * 3) + calls + b"\\n"

def one_line():
    while True:
        yield b"x" * 65536

def deep():
    yield b'"ConsumeMessageThread_G_1" #1 prio=5 tid=0x1 nid=1 runnable\\n'
    while True:
        yield b"\\tat shop.orders.Recursion.again(Recursion.java:7)\\n" * 100

def peak_kib():  # what the kernel adds up for a process begins with the size of the one that forked it
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

stream = Made(globals()[sys.argv[1]](), 100_000_000)
dumps = read_stream(io.BufferedReader(stream), source="made")
report = report_threads(dumps) if dumps else None
json.dump({
    "threads": report.thread_count if report else 0,
    "truncated": report.truncated if report else None,
    "notes": report.notes if report else (),
    "served": stream.served,
    "rss_kib": peak_kib(),
}, sys.stdout)
"""


@pytest.mark.parametrize(
    ("kind", "threads", "note"),
    [
        pytest.param("usual", 30_000, "", marks=pytest.mark.long),
        pytest.param("distinct", 3_000, "too many different calls", marks=pytest.mark.long),
        ("one_line", 0, ""),
        ("deep", 1, "only the innermost 1024 calls"),
    ],
)
def test_a_hundred_megabytes_stay_small(kind: str, threads: int, note: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, kind], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["threads"] >= threads
    assert figures["rss_kib"] < 300 << 10
    assert any(note in item for item in figures["notes"]) or not note
    assert figures["truncated"] is (bool(note) if threads else None)
