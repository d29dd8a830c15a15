"""Drills on a cluster."""
