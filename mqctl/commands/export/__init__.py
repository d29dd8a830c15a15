"""`mqctl export`: what a cluster shows, for other systems."""
