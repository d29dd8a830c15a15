"""What a client process reports is lost to nobody, in whatever order it comes."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.interop.clients import Client

_REPORTS = """
import json
for event in ({"event": "message", "number": 1}, {"event": "ready"}, {"event": "message", "number": 2}):
    print(json.dumps(event), flush=True)
"""


def test_a_message_before_the_word_ready_is_the_first_one(tmp_path: Path) -> None:
    with Client("early", [sys.executable, "-c", _REPORTS], {}, tmp_path) as client:
        client.wait("ready")
        assert [client.wait("message")["number"] for _ in range(2)] == [1, 2]
