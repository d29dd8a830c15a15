"""Runbooks: read, checked, run step by step as child processes."""
