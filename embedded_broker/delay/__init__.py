"""Delay levels, timers and recall."""
