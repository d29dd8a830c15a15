"""`mqctl check`: what was promised of a cluster."""
