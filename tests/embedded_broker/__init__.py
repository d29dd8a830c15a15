"""The embedded broker over the wire."""
