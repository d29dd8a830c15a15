"""Connections, frames, dispatch of requests, injected faults."""
