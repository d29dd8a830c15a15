"""Compiled twins of the numpy kernels, for workers that have numba (the `spark` extra) and much to read.

Every function here gives what its numpy twin gives; the twins are what small stores and the base install run on, and
what the tests hold these against. `mqctl.spark.aggregates.twins` says which of the two a process uses.

What is compiled is kept on disk. numba compiles a function anew when its own file has changed, but not when one has
that it calls: so what it keeps goes by the sources of this whole package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from numba import config

_HERE = Path(__file__).parent
_SOURCES = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))
# A directory that cannot be written to is passed over for numba's own choice.
config.CACHE_DIR = str(Path(config.CACHE_DIR or _HERE / "__pycache__") / hashlib.sha256(_SOURCES).hexdigest()[:16])
