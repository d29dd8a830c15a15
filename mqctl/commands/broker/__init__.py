"""Brokers of a live cluster."""
