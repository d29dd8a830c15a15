"""Topics and groups, and the files that configuration is kept in."""
