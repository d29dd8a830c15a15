"""Faults to be tried, on this machine."""
