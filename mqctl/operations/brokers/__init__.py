"""Topics and groups as a cluster lists them, and their traffic."""
