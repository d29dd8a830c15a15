"""`stacks dump` on real processes in each state: Python consumers of our client, as a process and through their broker,
and a Java program whose threads are named as RocketMQ names them, dumped by the real JDK. None passes for healthy."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import REPOSITORY, Outcome
from tests.live.conftest import Consume, Run
from tests.rings import rest_is_long

QUICK = ("--every", "300ms", "-o", "json")
Java = Callable[..., "subprocess.Popen[str]"]
STATES: dict[str, tuple[int, dict[str, int], set[str], str, str]] = {
    "sleep": (2, {}, {"sleep"}, "MQ323", "sleeps(stack_states.py:"),
    "http": (2, {}, {"http"}, "MQ322", "asks_a_slow_server(stack_states.py:"),
    "deadlock": (2, {}, {"lock"}, "MQ320", "deadlocks(stack_states.py:"),
    "lock": (4, {"threads": 4}, {"lock", "sleep"}, "MQ321", "waits_for_a_lock(stack_states.py:"),
    "burn": (2, {}, {"cpu"}, "MQ324", "burns"),
    "hang": (1, {}, {"idle", "wait"}, "MQ327", "one_hangs(stack_states.py:"),
}
WAYS = ("process", "broker")
JAVA_STATES = {
    "sleep": (3, {"sleep"}, "MQ323", "ConsumeStates.sleeps("),
    "http": (3, {"http"}, "MQ322", "ConsumeStates.asksASlowServer("),
    "socket": (3, {"socket"}, "MQ322", "ConsumeStates.readsASocket("),
    "deadlock": (2, {"lock"}, "MQ320", "ConsumeStates.locksTwo("),
    "lock": (4, {"lock", "sleep"}, "MQ321", "ConsumeStates.entersOneAfterTheOther("),
    "reentrant": (4, {"lock", "sleep"}, "MQ321", "ConsumeStates.takesTheLock("),
    "burn": (3, {"cpu"}, "MQ324", "ConsumeStates.burns("),
}


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """Stacks are the clients' matter: one release of the brokers is enough."""
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


def report(outcome: Outcome) -> Any:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def classes(document: Any) -> set[str]:
    (instance,) = document["instances"]
    return {item["cls"] for item in instance["groups"] if item["role"] == "consume"}


def lines(document: Any) -> str:
    return " ".join(item["line"] or "" for item in document["instances"][0]["groups"] if item["role"] == "consume")


# In the first ring each state is seen one way, and each way has three states.
@pytest.mark.parametrize(
    ("does", "through"),
    rest_is_long(product(STATES, WAYS), *zip(STATES, cycle(WAYS), strict=False)),
)
def test_a_python_consumer(live: Run, consume: Consume, slow_server: str, does: str, through: str) -> None:
    ready, more, shown, code, line = STATES[does]
    process = consume(does, ready=ready, url=slow_server, **more)
    source = ("--pid", process.pid) if through == "process" else ("-g", "G")
    document = report(live("stacks", "dump", *source, *QUICK))
    (instance,) = document["instances"]
    assert (instance["group"], instance["client_id"], instance["dump_count"]) == ("G", "127.0.0.1@one", 3)
    assert classes(document) == shown
    assert line in lines(document)
    assert code in {item["code"] for item in document["findings"]}
    assert {item["group"] for item in instance["pools"]} == {"G"}
    if through == "process":
        assert instance["pause_ms"] > 0
        assert instance["groups"][0]["cpu_share"] is not None


def test_a_consumer_that_keeps_up_is_idle_and_nothing_else(live: Run, consume: Consume) -> None:
    process = consume("content", ready=4)
    document = report(live("stacks", "dump", "--pid", process.pid, *QUICK))
    assert (classes(document), document["findings"]) == ({"idle"}, [])


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the Java program; returns the directory of its classes."""
    if shutil.which("javac") is None:
        pytest.skip("no JDK (javac) on this machine")
    directory = tmp_path_factory.mktemp("java")
    source = Path(__file__).with_name("ConsumeStates.java")
    subprocess.run(["javac", "--release", "17", "-d", str(directory), str(source)], check=True)
    return directory


@pytest.fixture
def java(compiled: Path, slow_server: str) -> Iterator[Java]:
    """Starts the Java program and returns it once all its threads are where they are meant to be."""
    running: list[subprocess.Popen[str]] = []

    def start(does: str, threads: int) -> subprocess.Popen[str]:
        words = ["java", "-Xmx64m", "-cp", str(compiled), "ConsumeStates", does, str(threads), slow_server]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("does", rest_is_long(JAVA_STATES, "sleep", "deadlock", "socket"))
def test_a_java_consumer(mqctl: Run, java: Java, does: str) -> None:
    threads, shown, code, line = JAVA_STATES[does]
    process = java(does, threads)
    document = report(mqctl("stacks", "dump", "--pid", process.pid, *QUICK))
    (instance,) = document["instances"]
    assert (instance["tool"], instance["dump_count"]) == ("jstack", 3)
    assert classes(document) == shown
    assert line in lines(document)
    assert code in {item["code"] for item in document["findings"]}
    assert bool(instance["deadlocks"]) is (does == "deadlock")


def test_java_threads_of_which_one_hangs_and_of_which_none_does(mqctl: Run, java: Java) -> None:
    hanging = report(mqctl("stacks", "dump", "--pid", java("one-hangs", 3).pid, *QUICK))
    assert classes(hanging) == {"idle", "wait"}
    assert "ConsumeStates.hangs(" in lines(hanging)
    idle = report(mqctl("stacks", "dump", "--pid", java("idle", 3).pid, *QUICK))
    assert (classes(idle), idle["findings"]) == ({"idle"}, [])


def test_what_is_in_the_way_ends_with_its_own_code(mqctl: Run, java: Java, consume: Consume) -> None:
    gone = consume("sleep")
    gone.kill()
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
    outcome = mqctl("stacks", "dump", "--pid", gone.pid)
    assert (outcome.exit_code, f"there is no process {gone.pid}" in outcome.stderr) == (66, True)
    stopped = java("sleep", 1)
    stopped.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
    outcome = mqctl("stacks", "dump", "--pid", stopped.pid)
    assert (outcome.exit_code, f"kill -CONT {stopped.pid}" in outcome.stderr) == (76, True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can give its rights up")
def test_without_ptrace_it_ends_with_77_and_the_remedy(consume: Consume) -> None:
    process = consume("sleep")
    rights = ("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "--")
    words = (*rights, sys.executable, "-m", "mqctl", "stacks", "dump", "--pid", str(process.pid))
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, "SYS_PTRACE" in done.stderr, "--client ID -g GROUP" in done.stderr) == (77, True, True)
