"""Snapshots: save and show."""
