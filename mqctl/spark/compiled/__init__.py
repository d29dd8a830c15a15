"""Compiled twins of the numpy kernels, for workers that have numba (the `spark` extra) and much to read.

Every function here gives what its numpy twin gives; the twins are what small stores and the base install run on, and
what the tests hold these against. `twins` says which of the two this process uses.
"""
