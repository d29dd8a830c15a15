"""`mqctl doctor`: what is wrong, of a cluster, a snapshot or a store."""
