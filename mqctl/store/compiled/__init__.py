"""Compiled twins of the numpy scanners, for whoever has numba (the `spark` extra) and much to read.

Every function here gives what its numpy twin gives; the twins are what small stores and the base install run on, and
what the tests hold these against. `mqctl.store.log_rows` says which of the two a process uses.

What is compiled is kept on disk. numba compiles a function anew when its own file has changed, but not when one has
that it calls: so what it keeps goes by the sources of this whole package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from numba import config


def keep_by(package: Path) -> None:
    """Lets numba keep what is compiled from now on in a directory that goes by the sources of `package`, too."""
    sources = b"".join(path.read_bytes() for path in sorted(package.glob("*.py")))
    # A directory that cannot be written to is passed over for numba's own choice.
    place = Path(config.CACHE_DIR or Path(__file__).parent / "__pycache__")
    config.CACHE_DIR = str(place / hashlib.sha256(sources).hexdigest()[:16])


keep_by(Path(__file__).parent)
