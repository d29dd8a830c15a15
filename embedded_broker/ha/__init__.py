"""Replication: what a master gives its slaves, and what a slave takes from its master."""
