"""`mqctl local` as a user runs it: clusters that come up, are found again, and go down without a trace."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]


@pytest.fixture
def local(mqctl: Run, tmp_path: Path) -> Iterator[Run]:
    """Runs `mqctl local ...` with a state directory of its own; whatever is left running is brought down."""
    environment = {"MQCTL_STATE_DIR": str(tmp_path / "state")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl("local", *words, env={**environment, **(env or {})})

    yield run
    run("down", "--all")


def test_a_cluster_comes_up_serves_and_goes_down(local: Run, tmp_path: Path) -> None:
    up = local("up", "--brokers", "2", "-o", "json")
    assert up.exit_code == 0, up.stderr
    (cluster,) = up.json["clusters"]
    assert (cluster["state"], [broker["name"] for broker in cluster["brokers"]]) == (
        "running",
        ["broker-a", "broker-b"],
    )
    assert f"name server {cluster['namesrv']}" in up.stderr
    with Peer(cluster["brokers"][0]["address"]) as peer:
        assert peer.call(send("T"), b"x").code == 0
    status = local("status")
    assert (status.exit_code, cluster["namesrv"] in status.stdout) == (0, True)
    assert local("down").exit_code == 0
    assert not psutil.pid_exists(cluster["pid"])
    store = Path(cluster["brokers"][0]["store"])
    assert not (store / "abort").exists()
    assert local("status", "-o", "json").json["clusters"] == []
    again = local("up", "--brokers", "2", "-o", "json").json["clusters"][0]
    assert again["brokers"][0]["store"] == str(store)
    assert local("down", "--purge").exit_code == 0
    assert not store.exists()


def test_a_cluster_for_grpc_clients_says_where_they_find_it(local: Run) -> None:
    up = local("up", "--memory", "--grpc", "-o", "json")
    assert up.exit_code == 0, up.stderr
    (cluster,) = up.json["clusters"]
    assert cluster["version"] == "5.3.3"
    assert f"gRPC clients find it at {cluster['grpc']}" in up.stderr
    host, _, port = cluster["grpc"].rpartition(":")
    socket.create_connection((host, int(port)), timeout=10).close()
    status = local("status")
    assert "GRPC" in status.stdout.upper() and cluster["grpc"] in status.stdout


def test_settings_without_effect_are_named_at_once(local: Run) -> None:
    given = ("maxMessageSize=1000", "defaultTopicQueueNums=many", "sendMessageThreadPoolNums=4", "noSuchThing=1")
    up = local("up", "--memory", *[word for item in given for word in ("--set", item)])
    assert up.exit_code == 0, up.stderr
    assert "defaultTopicQueueNums, noSuchThing, sendMessageThreadPoolNums\n" in up.stderr
    assert "maxMessageSize" not in up.stderr


def test_stores_that_cannot_be_deleted_are_told(local: Run, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "disk")
    assert local("up", "--data-dir", link).exit_code == 0
    outcome = local("down", "--purge")
    assert (outcome.exit_code, "could not be deleted" in outcome.stderr) == (74, True), outcome.stderr
    assert f"next: delete {link} by hand" in outcome.stderr
    assert local("status", "-o", "json").json["clusters"] == []


def test_a_second_one_of_the_name_is_refused_and_another_name_is_not(local: Run) -> None:
    assert local("up", "--memory").exit_code == 0
    second = local("up", "--memory")
    assert (second.exit_code, "runs already" in second.stderr, "--name" in second.stderr) == (76, True, True)
    assert local("up", "--memory", "--name", "two", "--as-version", "5.3.3").exit_code == 0
    names = {row["name"]: row["version"] for row in local("status", "-o", "json").json["clusters"]}
    assert names == {"default": "4.9.8", "two": "5.3.3"}


@pytest.mark.long
def test_who_tries_things_is_told_when_commands_go_to_another_cluster(local: Run, mqctl: Run, tmp_path: Path) -> None:
    """A profile that is current wins over the cluster that was just started: what is tried would happen there."""
    alone = local("up", "--memory")
    assert "commands" not in alone.stderr, alone.stderr
    local("down")
    config = {"MQCTL_CONFIG_DIR": str(tmp_path / "config")}
    assert mqctl("profile", "add", "prod", "--namesrv", "192.0.2.1:9876", env=config).exit_code == 0
    up = local("up", "--memory", "-o", "json", env=config)
    address = up.json["clusters"][0]["namesrv"]
    assert "commands still go to profile prod (192.0.2.1:9876)" in up.stderr
    assert f"export MQCTL_NAMESRV={address} leads them here" in up.stderr
    second = local("up", "--memory", "--name", "two")
    assert "commands do not find it automatically: " in second.stderr


def test_of_two_at_once_one_wins(local: Run) -> None:
    with ThreadPoolExecutor(2) as pool:
        ends = sorted(pool.map(lambda _: local("up", "--memory").exit_code, range(2)))
    assert ends == [0, 76]


def test_one_that_died_is_told_and_can_be_started_again(local: Run) -> None:
    (cluster,) = local("up", "--memory", "-o", "json").json["clusters"]
    os.kill(cluster["pid"], signal.SIGKILL)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(cluster["pid"]).wait(60)
    status = local("status")
    assert (status.exit_code, "dead" in status.stdout) == (2, True)
    assert local("up", "--memory").exit_code == 0
    assert local("status").exit_code == 0


def test_a_pid_that_belongs_to_somebody_else_now_is_left_alone(local: Run, tmp_path: Path) -> None:
    (cluster,) = local("up", "--memory", "-o", "json").json["clusters"]
    file = tmp_path / "state" / "local" / "default.json"
    state = json.loads(file.read_text())
    os.kill(cluster["pid"], signal.SIGTERM)
    state["ready"]["pid"] = os.getpid()
    file.write_text(json.dumps(state))
    assert local("status").exit_code == 2
    assert local("down").exit_code == 0
    assert psutil.pid_exists(os.getpid())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("up", "--rooms", "HT", "--brokers", "CP-x"), 64, "none of the rooms"),
        (("up", "--brokers", "0"), 64, "leaves no broker"),
        (("up", "--brokers", "-1"), 64, "leaves no broker"),
        (("up", "--set", "nonsense"), 64, "cannot be read"),
        (("up", "--as-version", "3.2.1"), 64, "invalid choice"),
        (("up", "--memory", "--data-dir", "x"), 64, "cannot be combined"),
        (("up", "--name", "../x"), 64, "not a valid name for a local cluster"),
        (("down",), 66, "no local cluster default"),
        (("status", "--name", "x"), 66, "no local cluster x"),
        (("logs",), 66, "no log"),
    ],
)
def test_what_cannot_be(local: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = local(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_a_taken_port_is_named(local: Run) -> None:
    (cluster,) = local("up", "--memory", "-o", "json").json["clusters"]
    port = cluster["namesrv"].rpartition(":")[2]
    taken = local("up", "--memory", "--name", "two", "--namesrv-port", port)
    assert (taken.exit_code, port in taken.stderr) == (74, True)
    assert local("logs", "--name", "two").stdout


def test_a_broken_state_file_is_told(local: Run, tmp_path: Path) -> None:
    (tmp_path / "state" / "local").mkdir(parents=True)
    (tmp_path / "state" / "local" / "default.json").write_text("{")
    outcome = local("status")
    assert (outcome.exit_code, "default.json" in outcome.stderr) == (65, True)
    (tmp_path / "state" / "local" / "default.json").unlink()


def test_a_start_that_is_killed_leaves_no_process_behind(local: Run, tmp_path: Path) -> None:
    """Between the start of the process and the file by which `local down` finds it, the process ends with its starter.
    It waits for its access list here, which comes through a pipe."""
    access, state = tmp_path / "plain_acl.yml", tmp_path / "state" / "local" / "default.json"
    os.mkfifo(access)
    words = [sys.executable, "-m", "mqctl", "local", "up", "--acl", str(access)]
    starter = subprocess.Popen(
        words,
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_STATE_DIR": str(tmp_path / "state")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with access.open("w") as list_of_accounts:  # opened once somebody reads it
        (broker,) = psutil.Process(starter.pid).children()
        starter.kill()
        starter.wait()
        list_of_accounts.write("accounts: []\n")
    gone, _ = psutil.wait_procs([broker], 60)
    assert (gone, state.exists()) == ([broker], False)
    down = local("down")
    assert (down.exit_code, f"process {starter.pid}" in down.stderr) == (66, True), down.stderr
    assert "took over the lock to work on the local cluster default" in down.stderr
    assert local("up").exit_code == 0


def test_the_log_is_followed_to_the_end(local: Run) -> None:
    (cluster,) = local("up", "--memory", "-o", "json").json["clusters"]
    with Peer(cluster["brokers"][0]["address"]) as peer:
        peer.socket.sendall(b"\xff\xff\xff\xff")
        assert peer.closed()
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(local, "logs", "--follow")
        os.kill(cluster["pid"], signal.SIGTERM)
        assert "127.0.0.1" in following.result(60).stdout
