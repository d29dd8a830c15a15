"""Pending transactions: details, sources, resumed checks."""
