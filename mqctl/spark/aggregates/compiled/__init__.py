"""Compiled twins of the numpy kernels, for workers that have numba (the `spark` extra) and much to read.

Every function here gives what its numpy twin gives; the twins are what small stores and the base install run on, and
what the tests hold these against. `mqctl.spark.aggregates.twins` says which of the two a process uses.
"""

from __future__ import annotations

from pathlib import Path

from mqctl.store.compiled import keep_by

keep_by(Path(__file__).parent)
