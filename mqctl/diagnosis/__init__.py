"""Rules: pure functions from a snapshot to findings."""
