"""Runbooks that run."""
