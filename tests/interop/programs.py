"""The clients of others that cells of the table are tried with: how each is had, and what its interface lacks."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cached import cache, made, program, ran
from tests.interop.node_client import grpc_command
from tests.real.artifacts import copied
from tests.requires import need_extra

_HERE = Path(__file__).parent
_BUILD_S = 900
_JAVA = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto", "-Xmx128m")
_OPENED = ("--add-opens", "java.base/java.nio=ALL-UNNAMED")  # Netty of 4.x


@dataclass(frozen=True, kw_only=True)
class Program:
    """One client of a maker, behind a program of ours that speaks the words of `kinds.py`.

    Attributes:
        title: in the table: language, protocol, release.
        remoting: it speaks to name server and broker; else gRPC to a proxy.
        command: builds the program where needed and returns what runs it, but for its settings. Raises
            UnavailableError.
        lacks: kinds of use for which this client has no interface.
        refuses: kinds that it has an interface for and does not do here; why is said where it is listed.
        first: kinds that are tried in every run of CI; one client of each language has some.
        ci: CI builds it, so that its cells may be long tests; others are tried by hand, with those on real brokers.
    """

    title: str
    remoting: bool
    command: Callable[[Path], list[str]]
    lacks: frozenset[str]
    refuses: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()
    ci: bool = True


def _java(face: str, release: str) -> Callable[[Path], list[str]]:
    def command(home: Path) -> list[str]:
        name = f"java-{face}-{release}"
        sources = {
            "pom.xml": _HERE / "java" / face / f"pom-{release}.xml",
            "Lines.java": _HERE / "java" / "Lines.java",
            "Program.java": _HERE / "java" / face / "Program.java",
        }

        def make(directory: Path) -> None:
            copied(directory / "pom.xml", directory / "lib", f"the client of {name}", directory / "maven.log")
            words = ["javac", "-nowarn", "-d", "classes", "-cp", "lib/*", "Lines.java", "Program.java"]
            ran(words, f"build {name}", log=directory / "javac.log", seconds=_BUILD_S, directory=directory)

        place = made(name, sources, make, seconds=_BUILD_S)
        path = f"{place}/classes:{place}/lib/*"
        return [program("java"), *_JAVA, *_OPENED, f"-Duser.home={home}", "-cp", path, "Program"]

    return command


def _go(face: str) -> Callable[[Path], list[str]]:
    def command(home: Path) -> list[str]:
        name, folder = f"go-{face}", _HERE / "go" / face
        sources = {file: folder / file for file in ("go.mod", "go.sum", "main.go")}
        sources["lines.go"] = _HERE / "go" / "lines.go"

        def make(directory: Path) -> None:
            words = ["go", "build", "-mod=readonly", "-o", "program", "."]
            log = directory / "build.log"
            ran(words, f"build {name}", log=log, seconds=_BUILD_S, directory=directory, environment=_GO)

        return [str(made(name, sources, make, seconds=_BUILD_S) / "program")]

    return command


def _rust(home: Path) -> list[str]:
    folder = _HERE / "rust"
    sources = {file: folder / file for file in ("Cargo.toml", "Cargo.lock", "src/main.rs")}

    def make(directory: Path) -> None:
        target = cache() / "made" / "cargo"  # what it depends on takes minutes, and outlives changes of ours
        words = ["cargo", "build", "--locked"]
        log, environment = directory / "build.log", {"CARGO_TARGET_DIR": str(target)}
        ran(words, "build rust-grpc", log=log, seconds=_BUILD_S, directory=directory, environment=environment)
        shutil.copy2(target / "debug" / "program", directory / "program")

    return [str(made("rust-grpc", sources, make, seconds=_BUILD_S) / "program")]


_GO = {"GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def _python(home: Path) -> list[str]:
    need_extra("interop", "rocketmq.v5")
    return [sys.executable, str(_HERE / "grpc_driver.py")]


def _node(home: Path) -> list[str]:
    return grpc_command()


_OF_GRPC_ONLY = frozenset({"simple consumer", "invisible time"})
_OF_REMOTING_ONLY = frozenset({"pull", "delay level", "broadcast", "batch", "request-reply", "trace", "POP", "LMQ"})
PROGRAMS: Mapping[str, Program] = {
    "java-4.9.7": Program(
        title="Java 4.9.7",
        remoting=True,
        command=_java("remoting", "4.9.7"),
        lacks=_OF_GRPC_ONLY | {"POP", "recall"},
    ),
    "java-5.5.0": Program(
        title="Java 5.5.0",
        remoting=True,
        command=_java("remoting", "5.5.0"),
        lacks=_OF_GRPC_ONLY,
        first=("normal", "tags", "request-reply"),
    ),
    "go": Program(
        title="Go 2.1.2",
        remoting=True,
        command=_go("remoting"),
        lacks=_OF_GRPC_ONLY | {"POP", "recall", "TLS"},
        first=("normal", "tags", "transaction"),
    ),
    "java-grpc": Program(
        title="Java gRPC 5.2.0",
        remoting=False,
        command=_java("grpc", "5.2.0"),
        lacks=_OF_REMOTING_ONLY,
    ),
    "go-grpc": Program(
        title="Go gRPC 5.1.3",
        remoting=False,
        command=_go("grpc"),
        lacks=_OF_REMOTING_ONLY | {"recall"},
    ),
    "rust-grpc": Program(
        title="Rust gRPC 5.0.0",
        remoting=False,
        command=_rust,
        lacks=(_OF_REMOTING_ONLY - {"batch"}) | {"invisible time", "dead letter", "recall"},
        refuses=frozenset({"TLS"}),  # it trusts the authorities that it was built with, and no file
        ci=False,  # four minutes of two processors
    ),
    "python-grpc": Program(
        title="Python gRPC 5.1.2",
        remoting=False,
        command=_python,
        lacks=_OF_REMOTING_ONLY,
        first=("normal", "tags", "recall"),
    ),
    "node-grpc": Program(
        title="Node gRPC 1.0.8",
        remoting=False,
        command=_node,
        lacks=_OF_REMOTING_ONLY,
        first=("normal", "tags", "recall"),
    ),
}
"""By the names that `--client` takes, in the table's order."""
