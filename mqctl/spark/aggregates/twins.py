"""Whether the compiled twins of the numpy kernels are used.

Loading numba and what it has compiled costs a worker 0.2 to 0.4 s of CPU time, and compiling a few seconds more where
nothing is kept yet: small stores are read before that is done. Workers live on, and those that have loaded the compiled
functions go on using them.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from mqctl.spark.query import Kernels, Query
from mqctl.store.log_rows import WORTH_BYTES, has_compiled

WORTH_MESSAGES = 400_000
"""Messages to follow from which on a job is worth loading numba for."""
_READING = "mqctl.store.compiled.reading"


def settled(query: Query, *, messages: int = 0, size_bytes: int = 0) -> Query:
    """Returns what workers are to be asked, for a job of that size."""
    if query.kernels is Kernels.AUTO and (messages >= WORTH_MESSAGES or size_bytes >= WORTH_BYTES):
        return replace(query, kernels=Kernels.COMPILED)
    return query


def use_compiled(kernels: Kernels) -> bool:
    """Tells whether to use compiled functions, and loads what they need."""
    if kernels is Kernels.NUMPY or (kernels is Kernels.AUTO and _READING not in sys.modules):
        return False
    return has_compiled()
