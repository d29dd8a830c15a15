"""Handlers of the name server."""
