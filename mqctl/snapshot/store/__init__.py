"""Gathering from a store directory."""
