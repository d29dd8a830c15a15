"""Connections and requests: one link per address, many requests in flight."""
