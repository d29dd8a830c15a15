"""Reports on a real standalone cluster: a master and two workers as processes of their own, on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from mqctl.spark.session.java import find_java, shim_home
from tests.conftest import REPOSITORY, Outcome
from tests.requires import need_extra
from tests.store.builder import StoreBuilder, message

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
Run = Callable[..., Outcome]
PATIENCE_S = 400
LEAN = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""What the JVMs of a cluster that lives for some seconds are started with: half the work of starting them."""


def environment(scratch: Path) -> dict[str, str]:
    """What the cluster's processes and their Python workers are started with."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    home = spec.submodule_search_locations[0]
    return {
        **os.environ,
        "JAVA_HOME": str(shim_home(find_java(os.environ), scratch)),
        "SPARK_HOME": home,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(scratch / "local"),
        "SPARK_WORKER_DIR": str(scratch / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": LEAN,
        "PYTHONPATH": str(REPOSITORY),
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def daemon(environ: dict[str, str], words: list[str], sign: str) -> Iterator[str]:
    """Runs one process of the cluster and yields what its log says at `sign`, a pattern with a group."""
    command = [f"{environ['SPARK_HOME']}/bin/spark-class", *words]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said: Queue[str] = Queue()
    assert process.stdout is not None
    stream = process.stdout

    def read() -> None:
        for line in stream:
            said.put(line)

    reader = Thread(target=read, daemon=True)
    reader.start()
    seen: list[str] = []
    try:
        while True:
            try:
                seen.append(said.get(timeout=PATIENCE_S))
            except Empty:
                pytest.fail("".join(seen[-20:]) or "the process said nothing")
            match = re.search(sign, seen[-1])
            if match:
                yield match.group(1)
                break
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        reader.join(PATIENCE_S)
        stream.close()


@pytest.fixture(scope="module")
def master() -> Iterator[str]:
    need_extra("spark", "pyspark")
    with tempfile.TemporaryDirectory(prefix="mq-", ignore_cleanup_errors=True) as name:
        environ = environment(Path(name))
        quiet = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        package = "org.apache.spark.deploy"
        with daemon(environ, [f"{package}.master.Master", *quiet], r"Starting Spark master at (spark://\S+)") as url:
            worker = [f"{package}.worker.Worker", *quiet, "--cores", "1", "--memory", "512m", url]
            sign = r"Successfully registered with master (\S+)"
            with daemon(environ, worker, sign), daemon(environ, worker, sign):
                yield url


def options(master: str, *, cores: int) -> list[str]:
    """The way to the cluster: where the driver is found, and where its workers, one for each core, find mqctl."""
    settings = {
        "spark.cores.max": str(cores),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": LEAN,
        "spark.executorEnv.PYTHONPATH": str(REPOSITORY),
        "spark.sql.shuffle.partitions": "2",
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return ["--master", master, *conf]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = StoreBuilder()
    for number in range(500):
        properties = {"KEYS": f"k{number % 7}", "TAGS": "A" if number % 2 else "B"}
        builder.append(message("Orders", number % 4, properties=properties))
    root = builder.write(tmp_path_factory.mktemp("cluster") / "store")
    (root / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@billing":{0:5,1:9,2:0,3:125}}}')
    return root


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "cores"), [pytest.param(["order"], 2, marks=pytest.mark.long), (["backlog", "--by", "tag"], 1)]
)
def test_a_standalone_cluster_gives_the_same_figures(
    mqctl: Run, master: str, store: Path, words: list[str], cores: int
) -> None:
    environ = {"HOME": "", "PYSPARK_PYTHON": sys.executable}
    common = ["report", *words, "--store", str(store), "-o", "json"]
    outcome = mqctl(*common, *options(master, cores=cores), env=environ)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.json == mqctl(*common, "--no-spark").json


@pytest.mark.long
def test_spark_submit_runs_the_package_from_an_archive(store: Path, tmp_path: Path, mqctl: Run) -> None:
    need_extra("spark", "pyspark")
    archive, program = tmp_path / "mqctl.zip", tmp_path / "run_mqctl.py"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (REPOSITORY / "mqctl").rglob("*.py"):
            packed.write(path, path.relative_to(REPOSITORY))
    program.write_text("import sys\nfrom mqctl.__main__ import run\nsys.exit(run())\n")
    environ = environment(tmp_path)
    del environ["PYTHONPATH"]
    words = ["report", "order", "--store", str(store), "-o", "json"]
    submit = [f"{environ['SPARK_HOME']}/bin/spark-submit"]
    done = subprocess.run(
        [
            *submit,
            "--master",
            "local[1]",
            "--driver-java-options",
            LEAN,
            "--py-files",
            str(archive),
            str(program),
            *words,
        ],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert json.loads(done.stdout) == mqctl(*words, "--no-spark").json


@pytest.mark.long
def test_executors_without_the_files_are_named_with_path_and_host(mqctl: Run, master: str, tmp_path: Path) -> None:
    environ = {"HOME": "", "PYSPARK_PYTHON": sys.executable}
    missing = tmp_path / "not-there"
    outcome = mqctl("report", "skew", "--store", missing, *options(master, cores=1), env=environ)
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert str(missing) in outcome.stderr
    assert "no such directory (on " in outcome.stderr
