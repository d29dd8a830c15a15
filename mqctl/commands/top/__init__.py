"""`mqctl top`: a cluster, again and again."""
