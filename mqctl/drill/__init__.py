"""Drills: verifiable traffic, its history, and the checker that judges it."""
