from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

_SECONDS = 60


@contextmanager
def process(*words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Runs `python -m embedded_broker` and gives its ready line."""
    running = subprocess.Popen(
        [sys.executable, "-m", "embedded_broker", *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        yield running, json.loads(running.stdout.readline())
    finally:
        running.terminate()
        running.wait(_SECONDS)
        assert running.stdout is not None
        running.stdout.close()


class ControlPeer:
    def __init__(self, ready: dict[str, Any]) -> None:
        host, _, port = ready["control"]["address"].rpartition(":")
        self.token = ready["control"]["token"]
        self.socket = socket.create_connection((host, int(port)), timeout=_SECONDS)
        self.lines = self.socket.makefile("rb")

    def do(self, verb: str, **words: object) -> dict[str, Any]:
        self.socket.sendall(json.dumps({"token": self.token, "do": verb, **words}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self.lines.readline())
        return answer

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


def test_the_ready_line_names_everything_and_a_signal_ends_it_cleanly(tmp_path: Path) -> None:
    with process("--brokers", "HT-x,CP-y", "--rooms", "HT,CP", "--data-dir", str(tmp_path)) as (running, ready):
        assert ready["schema"] == "embedded_broker.ready/1"
        assert [(broker["name"], broker["room"]) for broker in ready["brokers"]] == [("HT-x", "HT"), ("CP-y", "CP")]
        assert set(ready["nsaddr"]) == {"HT", "CP"}
        assert ready["control"] is None
        with Peer(ready["brokers"][0]["address"]) as peer:
            assert peer.call(send("T"), b"x").code == 0
        running.send_signal(signal.SIGTERM)
        assert running.wait(_SECONDS) == 0
    assert not (tmp_path / "HT-x" / "abort").exists()
    assert (tmp_path / "HT-x" / "config" / "consumerOffset.json").exists()


def test_control_over_its_socket() -> None:
    with process("--control", "--virtual-time") as (_, ready):
        address = ready["brokers"][0]["address"]
        control = ControlPeer(ready)
        with Peer(address) as peer:
            assert control.do("fault", code=310, action="answer", answer_code=2, remark="busy", times=1)["ok"]
            assert peer.call(send("T"), b"x").remark == "busy"
            assert control.do("record")["ok"]
            assert peer.call(send("T"), b"x").code == 0
            (logged,) = control.do("requests", code=310)["result"]
            assert logged["ext_fields"]["b"] == "T"
            assert control.do("limit_disk", name="broker-a", free_bytes=0)["ok"]
            assert peer.call(send("T"), b"x").code == 14
            assert control.do("limit_disk", name="broker-a")["ok"]
            before = control.do("now")["result"]
            waiting = peer.post(pull("T", 1, wait_ms=10_000))
            peer.call(pull("T", 0))
            assert control.do("advance", ms=10_100)["ok"]
            assert peer.answer_to(waiting).code == 19
            assert control.do("now")["result"] == before + 10_100
            assert control.do("kill_broker", name="broker-a")["ok"]
            assert peer.closed()
        assert control.do("start_broker", name="broker-a")["ok"]
        with Peer(address) as peer:
            assert peer.call(pull("T", 0)).code == 0
        assert control.do("reset")["ok"]
        with Peer(address) as peer:
            assert peer.call(pull("T", 0)).code == 17
        assert "no verb" in control.do("dance")["error"]
        assert "code" in control.do("fault", code="x", action="drop")["error"]
        control.token = "wrong"
        assert "token" in control.do("now")["error"]
        for line in (b"no json\n", b"[" * 20_000 + b"\n", b"\xff\n"):
            control.socket.sendall(line)
            assert json.loads(control.lines.readline())["ok"] is False
        control.close()


def test_the_control_socket_expires_all_but_so_many_log_files(tmp_path: Path) -> None:
    words = ("--control", "--data-dir", str(tmp_path), "--set", "mappedFileSizeCommitLog=4096")
    with process(*words) as (_, ready):
        with Peer(ready["brokers"][0]["address"]) as peer:
            for _ in range(40):
                assert peer.call(send("T"), b"x" * 500).code == 0
        files = sorted((tmp_path / "broker-a" / "commitlog").iterdir())
        control = ControlPeer(ready)
        assert "keep of 0" in control.do("expire_log", name="broker-a", keep=0)["error"]
        for keep, left in ((3, files[-3:]), (5, files[-3:]), (None, files[-1:])):
            assert control.do("expire_log", name="broker-a", keep=keep)["ok"]
            assert sorted((tmp_path / "broker-a" / "commitlog").iterdir()) == left
        control.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--rooms", "HT", "--brokers", "x"], 64),
        (["--set", "nothing"], 64),
        (["--data-dir", "/dev/null/x"], 74),
        (["--host", "203.0.113.7"], 74),
        (["--set", "messageDelayLevel=1s  5s"], 78),
    ],
)
def test_what_cannot_start_says_why(words: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "embedded_broker", *words],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("embedded_broker: ")
    assert "Traceback" not in done.stderr


def test_the_process_imports_only_what_it_needs() -> None:
    probe = "import sys, embedded_broker.__main__; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=_SECONDS
    )
    modules = set(done.stdout.split())
    assert not modules & {"numpy", "rich", "typer", "msgspec", "yaml", "psutil", "dateparser", "email"}
    assert not any(name.startswith(("mqctl.cli", "mqctl.render", "mqctl.snapshot")) for name in modules)


def test_a_standard_input_that_cannot_be_waited_for_has_ended() -> None:
    words = [sys.executable, "-m", "embedded_broker", "--until-eof"]
    ended = subprocess.run(
        words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_properties_that_are_not_known_are_named() -> None:
    words = [sys.executable, "-m", "embedded_broker", "--until-eof", "--set", "maxMessageSize=4096"]
    words += ["--set", "enableDLegerCommitLog=true", "--set", "transactionCheckMax=many"]
    ended = subprocess.run(
        words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert ended.returncode == 0
    assert ended.stderr.rstrip().endswith("of another kind: enableDLegerCommitLog, transactionCheckMax")
