"""Servers that mean no good, asked on the command line: an end in time, by name, in little memory."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from mqctl.protocol.frame import FLAG_RESPONSE, MAX_FRAME_BYTES, RemotingCommand, encode
from tests.client.wire_server import Peer, WireServer
from tests.conftest import REPOSITORY

_MOST_MIB = 120
_RUN = """
import atexit, re, runpy, sys
def tell():  # ru_maxrss would count what the starter had when it forked
    peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
    sys.stderr.write("PEAK %d MiB\\n" % (int(peak[1]) >> 10))
atexit.register(tell)
sys.argv[0] = "mqctl"
runpy.run_module("mqctl", run_name="__main__")
"""
_GONE = Event()


def drips(peer: Peer, command: RemotingCommand) -> None:
    """A sound answer, byte by byte, for longer than anybody waits."""
    for byte in encode(command.answer(0, body=b"{}")):
        peer.socket.sendall(bytes((byte,)))
        _GONE.wait(0.2)


def never_ends(peer: Peer, command: RemotingCommand) -> None:
    """The beginning of the largest frame."""
    peer.socket.sendall((MAX_FRAME_BYTES - 4).to_bytes(4, "big") + b"\0\0\1\0" + b'{"code":0')


def answers_others(peer: Peer, command: RemotingCommand) -> None:
    """Large answers to what nobody asked, one behind the other."""
    frame = encode(replace(command, opaque=77_777, flag=FLAG_RESPONSE, body=bytes(1_000_000)))
    while True:
        peer.socket.sendall(frame)


def asks_without_end(peer: Peer, command: RemotingCommand) -> None:
    """Requests of its own, as fast as they are taken."""
    frames = encode(replace(command, code=307, opaque=7, flag=0, body=b"")) * 1_000
    while True:
        peer.socket.sendall(frames)


def nests(peer: Peer, command: RemotingCommand) -> None:
    peer.send(command.answer(0, body=b"[" * 4_000_000))


def lies_about_length(peer: Peer, command: RemotingCommand) -> None:
    peer.socket.sendall(b"\x7f\xff\xff\xff" + bytes(100))


@contextmanager
def _silent() -> Iterator[str]:
    """Takes connections and says nothing, not even to a TLS greeting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def _asked(address: str, directory: Path, *words: str) -> tuple[int, str]:
    places = {name: str(directory) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "topic", "list", "--timeout", "1s", *words],
        cwd=REPOSITORY,
        env={**os.environ, **places, "MQCTL_NAMESRV": address},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    peak = re.search(r"PEAK (\d+) MiB", done.stderr)
    assert peak is not None
    assert int(peak[1]) < _MOST_MIB
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("behaviour", "ends"),
    [
        (drips, 75), (never_ends, 75), (answers_others, 75), (asks_without_end, 75), (nests, 65),
        (lies_about_length, 69),
    ],
)  # fmt: skip
def test_a_server_that_means_no_good_is_left_in_time(
    behaviour: Callable[[Peer, RemotingCommand], None], ends: int, tmp_path: Path
) -> None:
    with WireServer(behaviour) as server:
        code, said = _asked(server.address, tmp_path)
    assert code == ends, said
    assert server.address in said


def test_a_tls_handshake_that_never_ends(tmp_path: Path) -> None:
    with _silent() as address:
        code, said = _asked(address, tmp_path, "--tls", "--tls-ca", "none")
    assert code == 75, said
    assert address in said
