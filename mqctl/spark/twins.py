"""Whether the compiled twins of the numpy kernels are used.

Loading numba costs a worker 0.2 to 0.4 s of CPU time, and compiling a few seconds more where nothing is cached yet:
small stores are read before that is done. Workers live on, so one that has loaded them goes on using them.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

from mqctl.spark.asking import Kernels

WORTH_MESSAGES = 300_000
"""Messages of one task from which on loading numba pays."""
_READING = "mqctl.spark.compiled.reading"


def use_compiled(kernels: Kernels, messages: int) -> bool:
    """Tells whether to use compiled functions for so many messages, and loads what they need."""
    if kernels is Kernels.NUMPY:
        return False
    if kernels is Kernels.AUTO and messages < WORTH_MESSAGES and _READING not in sys.modules:
        return False
    return _loaded()


@cache
def _loaded() -> bool:
    try:
        import_module(_READING)
    except (ImportError, RuntimeError):  # not installed, not for this numpy, or no directory for its cache
        return False
    return True
