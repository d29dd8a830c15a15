"""Stacks of consume threads: where they come from, files of them, watching them."""
