"""Half messages that a broker dispatches while a report reads the store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mqctl.model.names import HALF_TOPIC
from mqctl.store.layouts import QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from tests.conftest import REPOSITORY
from tests.store.builder import StoreBuilder, message

_COUNT = 60
_DISPATCHED_WHILE_READ = """
import os, sys
from mqctl.cli.exit import run_guarded
from mqctl.main import main

store, log, queue, place, entry = sys.argv[1:]
descriptors = [os.open(queue, os.O_WRONLY)]

def as_the_broker_does(event, arguments):
    if descriptors and event == "open" and str(arguments[0]) == log:
        os.pwrite(descriptors.pop(), bytes.fromhex(entry), int(place))

sys.addaudithook(as_the_broker_does)
sys.exit(run_guarded(["report", "transactions", "--no-spark", "--store", store, "-o", "json"], main))
"""


def test_an_entry_that_comes_while_the_queue_is_read_is_not_one_that_leads_to_nothing(tmp_path: Path) -> None:
    built = StoreBuilder(commit_log_file_bytes=1 << 16, queue_file_entries=100)
    for number in range(_COUNT):
        properties = {"REAL_TOPIC": "Pay", "PGROUP": "GP", "UNIQ_KEY": f"H{number}", "TRAN_MSG": "true"}
        half = message(HALF_TOPIC, 0, bytes(200), properties, store_time_ms=1_795_218_000_000 + number)
        built.append(half, dispatch=number < _COUNT - 1)
    store, last = built.write(tmp_path / "store"), built.messages[-1]
    (log,), (queue,) = ((store / part).iterdir() for part in ("commitlog", f"consumequeue/{HALF_TOPIC}/0"))
    place = (_COUNT - 1) * QUEUE_ENTRY_BYTES
    entry = QUEUE_ENTRY_STRUCT.pack(last.physical_offset, last.size_bytes, 0)
    done = subprocess.run(
        [sys.executable, "-c", _DISPATCHED_WHILE_READ, str(store), str(log), str(queue), str(place), entry.hex()],
        cwd=tmp_path, env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert queue.read_bytes()[place : place + QUEUE_ENTRY_BYTES] == entry
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["report"]["unread"] == []
