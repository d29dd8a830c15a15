"""Stacks of processes on this machine: who consumes here, what stands in the way of a dump, and taking it."""
