"""Filters: what an expression lets through, and why."""
