"""Delay levels."""
