"""Whether the compiled twins of the numpy scanners are used.

Loading numba and what it has compiled costs a process 0.2 to 0.4 s of CPU time, and compiling a few seconds more where
nothing is kept yet: small stores are read before that is done.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

WORTH_BYTES = 256 << 20
"""Bytes of commit log from which on loading numba is worth it."""


@cache
def has_compiled() -> bool:
    """Loads what the compiled functions need; tells whether they can be used."""
    try:
        import_module("mqctl.store.compiled.reading")
    except (ImportError, RuntimeError):  # not installed, not for this numpy, or no directory for its cache
        return False
    return True
