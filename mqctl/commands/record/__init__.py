"""`mqctl record`: a cluster, look by look, in a file."""
