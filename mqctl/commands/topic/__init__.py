"""Topics of a live cluster."""
