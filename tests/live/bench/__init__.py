"""`mqctl bench` on an embedded cluster."""
