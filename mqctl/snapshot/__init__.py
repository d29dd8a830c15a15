"""Gatherers that produce a `ClusterSnapshot`, and its archive."""
