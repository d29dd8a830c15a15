"""Every answer in flight is altered: read commands over a proxy that lies, and on snapshots that do."""
