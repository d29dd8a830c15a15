"""Producers of a live cluster."""
