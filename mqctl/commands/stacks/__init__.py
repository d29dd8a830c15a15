"""`mqctl stacks`: what consume threads do."""
