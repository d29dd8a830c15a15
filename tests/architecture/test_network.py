"""No address but those of the configured cluster is ever spoken to: not at import, not in a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import REPOSITORY

# Which of our own addresses reaches others: connecting a datagram socket to a documentation address sends nothing.
_NOWHERE = "192.0.2.1"
_HOOK = """
import os, sys
_log = open(os.environ["NETWORK_LOG"], "a", buffering=1)
def _watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.bind"):
        _log.write(f"{event} {arguments[1]!r}\\n")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request", "ftplib.connect", "smtplib.connect"):
        _log.write(f"{event} {arguments[0]!r}\\n")
sys.addaudithook(_watch)
"""


def watched(directory: Path, *words: str, env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    """Runs Python with every use of the network noted; returns the exit code and the notes."""
    (directory / "sitecustomize.py").write_text(_HOOK)
    log = directory / "network.log"
    log.write_text("")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=directory,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(directory),
            "PYTHONPATH": f"{directory}:{REPOSITORY}",
            "NETWORK_LOG": str(log),
            **(env or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, log.read_text().splitlines()


def test_importing_every_module_touches_no_network(tmp_path: Path) -> None:
    probe = (
        "import importlib, pkgutil\n"
        "for root in ('mqctl', 'embedded_broker'):\n"
        "    package = importlib.import_module(root)\n"
        "    for module in pkgutil.walk_packages(package.__path__, root + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print('imported')\n"
    )
    code, notes = watched(tmp_path, "-c", probe)
    assert (code, notes) == (0, [])


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("commands",),
        ("rules", "list"),
        ("filter", "test", "TagA || TagB", "--tag", "TagA"),
        ("delay", "plan", "--at", "+10m", "--levels", "1s 5s 10s"),
        ("profile", "list"),
        ("history",),
    ],
)
def test_commands_without_a_cluster_touch_no_network(tmp_path: Path, words: tuple[str, ...]) -> None:
    _, notes = watched(tmp_path, "-m", "mqctl", *words)
    assert notes == []


def test_commands_speak_to_the_cluster_only(tmp_path: Path) -> None:
    with EmbeddedCluster(brokers=2, name_servers=2) as cluster:
        ours = {address.rpartition(":")[2] for address in cluster.namesrv.split(";")}
        ours |= {broker.address.rpartition(":")[2] for broker in cluster.brokers.values()}
        for words in (
            ("topic", "create", "-t", "Pay", "--queues", "2", "--execute"),
            ("message", "send", "-t", "Pay", "--body", "x"),
            ("message", "consume", "-t", "Pay", "--from-start", "--count", "1"),
            ("doctor", "-o", "json"),
            ("snapshot", "save", "look.snap"),
        ):
            code, notes = watched(tmp_path, "-m", "mqctl", *words, env={"MQCTL_NAMESRV": cluster.namesrv})
            assert code in (0, 1), words
            assert any(note.startswith("socket.connect") for note in notes)
            for note in notes:
                assert _is_of_the_cluster(note, ours), (words, note)


def _is_of_the_cluster(note: str, ports: set[str]) -> bool:
    event, _, what = note.partition(" ")
    if event == "socket.getaddrinfo":
        return what in ("'127.0.0.1'", "b'127.0.0.1'")
    if event != "socket.connect":
        return False
    host, port = json.loads(what.replace("(", "[").replace(")", "]").replace("'", '"'))[:2]
    return host == _NOWHERE or (host == "127.0.0.1" and str(port) in ports)
