"""Consumers: push and lite pull, with everything that runs inside of one."""
