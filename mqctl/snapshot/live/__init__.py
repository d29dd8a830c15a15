"""Gathering from a live cluster."""
