"""Where a command reads from: a live cluster, a snapshot, a store."""
