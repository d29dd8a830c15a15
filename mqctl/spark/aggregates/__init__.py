"""Partial aggregates, computed on workers and combined."""
