"""Messages of a live cluster."""
