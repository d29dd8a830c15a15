"""Store directories."""
