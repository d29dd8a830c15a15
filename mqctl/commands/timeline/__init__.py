"""`mqctl timeline`: what happened, from a recording."""
