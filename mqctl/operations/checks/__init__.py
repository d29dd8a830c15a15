"""Checks for CI and monitoring: their files, known states, exported metrics."""
