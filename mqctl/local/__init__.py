"""Local clusters: `python -m embedded_broker` as a background process, found again by its state file."""
