"""Replication: what slaves really hold, live and in two store directories."""
