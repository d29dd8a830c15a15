"""`mqctl ha`: replication between masters and slaves."""
