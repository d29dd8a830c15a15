"""A local Spark session that starts fast, talks to nobody's terminal and leaves nothing behind.

What makes it lean was measured step by step (`benchmarks/spark_backlog.py` prints the steps): no web interface, the
in-memory catalog, the loopback address, the serial collector and the first-tier compiler only (reports are short and
their work is done in the Python workers), and an archive of the JVM's class data once a first session has left one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import ConfigurationError
from mqctl.spark.session.java import Java, find_java, shim_home
from mqctl.store.own_files import make_directory, new_stream
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"
_GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
# Unix socket paths end at 107 bytes; Spark adds a dot, a UUID and `.sock` to the directory.
_LONGEST_SOCKET_DIRECTORY = 60
_EXIT_TIMEOUT_S = 10.0
_SQL_CONF = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_LOG_TAIL_LINES = 12


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a session is started with.

    Attributes:
        environ: the process environment (`JAVA_HOME`, `PATH` and Spark's own variables are read from it).
        master: Spark master URL; anything but `local` leaves addresses, workers and memory to the cluster's settings.
        conf: Spark settings that win over ours; Java options of the driver are added to ours.
        cache_dir: where archives of class data (160 MB each) and compiled functions are kept between sessions; None
            keeps no class data, and leaves it to numba where it puts its own.
    """

    environ: Mapping[str, str] = field(repr=False)
    master: str = LOCAL_MASTER
    conf: tuple[tuple[str, str], ...] = ()
    cache_dir: Path | None = None

    @property
    def is_submitted(self) -> bool:
        """Tells whether `spark-submit` runs us: it has started the JVM, and its own settings count."""
        return _GATEWAY_PORT in self.environ

    @property
    def is_local(self) -> bool:
        """Tells whether driver and workers share this machine."""
        return not self.is_submitted and (self.master == "local" or self.master.startswith("local["))


def require_spark() -> None:
    """Checks that the `spark` extra is installed, without importing it.

    Raises:
        ConfigurationError: PySpark or pyarrow is missing.
    """
    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            sentence("report-runs-spark-not-installed", "This report runs on Spark, which is not installed"),
            reason=sentence("spark-no-module", "no module {missing:and}", missing=missing),
            remedy=sentence(
                "pip-install-spark-adds",
                "pip install 'mqctl[spark]', which adds Spark, Arrow, charts and a Java runtime, 900 "
                "MB on disk; or, for small stores, --no-spark where a report has it",
            ),
        )


@contextmanager
def open_session(settings: SessionSettings) -> Iterator[SparkSession]:
    """Starts a session and stops it, its JVM and its workers when the block ends, in whatever way it ends.

    SIGINT raises KeyboardInterrupt as it did before, and the JVM is then ended without asking it. Spark's own words go
    to a file that lives as long as the session.

    Raises:
        ConfigurationError: Spark is not installed, no Java fits, or the JVM did not come up (it says why).
    """
    require_spark()
    _silence_py4j()
    if settings.is_submitted:
        with _submitted(settings) as session:
            yield session
        return
    java = find_java(settings.environ)
    scratch = Path(tempfile.mkdtemp(prefix="mqctl-spark-"))
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        session = _start(settings, java, scratch)
        # PySpark's own handler talks to the JVM over the connection that the interrupted call is reading from.
        with suppress(ValueError):  # only the main thread may own signal handlers
            signal.signal(signal.SIGINT, interrupt)
        try:
            yield session
        except KeyboardInterrupt:
            _abandon()
            raise
        finally:
            _stop(session)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _submitted(settings: SessionSettings) -> Iterator[SparkSession]:
    """Uses the JVM that `spark-submit` has started; ours are only settings that it leaves open."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway = launch_gateway()
    conf = SparkConf(loadDefaults=True, _jvm=gateway.jvm)
    conf.setIfMissing("spark.master", settings.master).setIfMissing("spark.app.name", "mqctl")
    for key, value in (*_SQL_CONF.items(), ("spark.sql.catalogImplementation", "in-memory")):
        conf.setIfMissing(key, value)
    for key, value in settings.conf:
        conf.set(key, value)
    session = SparkSession(SparkContext(conf=conf, gateway=gateway))
    try:
        yield session
    finally:
        session.stop()


def _start(settings: SessionSettings, java: Java, scratch: Path) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(_conf(settings, java, scratch).items()))
    log = scratch / "spark.log"
    with new_stream(log) as sink, _child_environment(settings, java, scratch):
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": sink, "stderr": sink})
        except PySparkException as error:
            raise _not_started(java, log) from error
        try:
            context = SparkContext(conf=conf, gateway=gateway)
        except (PySparkException, Py4JError) as error:
            gateway.shutdown()
            _end(gateway.proc)
            raise _not_started(java, log) from error
    return SparkSession(context)


def _not_started(java: Java, log: Path) -> ConfigurationError:
    lines = log.read_text(errors="replace").strip().splitlines()
    # spark-submit prints its whole usage after the sentence that matters.
    complaints = [line for line in lines if "rror" in line or "xception" in line][:3]
    tail = complaints or lines[-_LOG_TAIL_LINES:]
    return ConfigurationError(
        sentence(
            "spark-did-not-start",
            "Spark did not start on Java {version} ({origin})",
            version=java.version,
            origin=java.origin,
        ),
        reason="; ".join(map(str.strip, tail)) or sentence("process-said-nothing", "it said nothing"),
        remedy=sentence(
            "spark-check-master-conf-point", "check --master and --conf, or point JAVA_HOME at another Java"
        ),
    )


def _conf(settings: SessionSettings, java: Java, scratch: Path) -> dict[str, str]:
    conf = {
        "spark.master": settings.master,
        "spark.app.name": "mqctl",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        **_SQL_CONF,
    }
    if settings.is_local:
        sockets = len(str(scratch)) <= _LONGEST_SOCKET_DIRECTORY
        conf |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(scratch),
            "spark.python.unix.domain.socket.enabled": str(sockets).lower(),
            "spark.python.unix.domain.socket.dir": str(scratch),
            "spark.python.daemon.module": "mqctl.spark.session.daemon",
            # Partial aggregates are few: 200 shuffle partitions would be 200 tasks of nothing.
            "spark.sql.shuffle.partitions": "4",
            _DRIVER_OPTIONS: " ".join(_java_options(settings, java, scratch)),
        }
    conf_asked = dict(settings.conf)
    if _DRIVER_OPTIONS in conf_asked and _DRIVER_OPTIONS in conf:
        conf_asked[_DRIVER_OPTIONS] = f"{conf[_DRIVER_OPTIONS]} {conf_asked[_DRIVER_OPTIONS]}"
    return conf | conf_asked


def _java_options(settings: SessionSettings, java: Java, scratch: Path) -> list[str]:
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f'"-Djava.io.tmpdir={scratch}"']
    if settings.cache_dir is not None:
        options += _class_data_options(java, settings.cache_dir)
    return options


def _class_data_options(java: Java, cache_dir: Path) -> list[str]:
    """Gives the JVM options that use an archive of class data, or leave one when the JVM ends.

    The JVM writes the archive's header last and ignores an archive that does not fit its build, class path or options,
    so a half-written or stale one costs time and nothing else. A new one is written under a name of its own and taken
    over by the next session once its writer has gone: two sessions never write one file.
    """
    base = java.home / "lib" / "server" / "classes.jsa"
    if not base.is_file():  # a dynamic archive stands on the runtime's own, which trimmed runtimes lack
        return []
    key = hashlib.sha256(f"{java.home.resolve()} {base.stat().st_mtime_ns} {_spark_version()}".encode()).hexdigest()[
        :16
    ]
    archive = cache_dir / f"spark-{key}.jsa"
    try:
        make_directory(cache_dir)
        _adopt(archive)
    except OSError:  # no room or no right to write there: start without
        return []
    if archive.is_file():
        return [f'"-XX:SharedArchiveFile={archive}"', "-Xshare:auto"]
    pending = archive.with_suffix(f".{os.getpid()}.pending")
    return [f'"-XX:ArchiveClassesAtExit={pending}"', "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def _adopt(archive: Path) -> None:
    """Takes over an archive that an earlier session's JVM has finished, and clears away what a killed one left."""
    for pending in archive.parent.glob(f"{archive.stem}.*.pending"):
        if _is_being_written(pending):
            continue
        with pending.open("rb") as file:
            complete = any(file.read(8))
        if complete and not archive.exists():
            pending.replace(archive)
        else:
            pending.unlink(missing_ok=True)


def _is_being_written(pending: Path) -> bool:
    """Tells whether the JVM that writes `pending` still runs; it names the file on its command line."""
    import psutil

    return any(str(pending) in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


def _spark_version() -> str:
    from importlib.metadata import version

    return version("pyspark")


@contextmanager
def _child_environment(settings: SessionSettings, java: Java, scratch: Path) -> Iterator[None]:
    """Sets what the JVM and its workers inherit; `launch_gateway` copies `os.environ` and takes no other.

    Workers run the interpreter that runs us, and find mqctl where we found it.
    """
    values = {
        "JAVA_HOME": str(shim_home(java, scratch)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if settings.cache_dir is not None and "NUMBA_CACHE_DIR" not in settings.environ:
        values["NUMBA_CACHE_DIR"] = str(settings.cache_dir / "numba")  # what workers compile is compiled once
    if settings.is_local:
        values["TMPDIR"] = str(scratch)  # what workers leave behind goes with the session
    else:
        values = {"JAVA_HOME": values["JAVA_HOME"]}
        if "PYSPARK_PYTHON" not in settings.environ:
            values["PYSPARK_PYTHON"] = "python3"
    package_root = str(Path(__file__).resolve().parents[3])
    if package_root not in site.getsitepackages():
        values["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, settings.environ.get("PYTHONPATH", ""))))
    # A Spark installation elsewhere, or arguments meant for another program, must not change what we start.
    dropped = ("SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_TESTING") if settings.is_local else ()
    before = {name: os.environ.get(name) for name in (*values, *dropped)}
    for name in dropped:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _silence_py4j() -> None:
    """Keeps py4j's complaints about connections that a stop or Ctrl-C closes away from the terminal.

    Most go to its own logger, those about an interrupted call to the root logger.
    """
    logger = logging.getLogger("py4j")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logging.getLogger().addFilter(_not_from_py4j)


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _abandon() -> None:
    """Ends the JVM by signal: its shutdown hooks stop jobs and workers, and no connection is needed."""
    from pyspark import SparkContext

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if context is not None and context._accumulatorServer is not None:
        # It would print the end of a connection that the JVM takes along as a traceback.
        context._accumulatorServer.handle_error = lambda *_: None
    if gateway is not None:
        gateway.proc.terminate()
        _end(gateway.proc)


def _stop(session: SparkSession) -> None:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    # A JVM that has died takes the connection with it: there is nothing left to tell it then.
    with suppress(Py4JError, OSError), warnings.catch_warnings(action="ignore"):
        session.stop()
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    _end(gateway.proc)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Lets the JVM end on its closed standard input; one that archives its classes does so after we are gone."""
    if process.stdin is not None:
        process.stdin.close()
    if isinstance(process.args, list) and any("ArchiveClassesAtExit" in str(part) for part in process.args):
        return
    try:
        process.wait(_EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
