"""Use cases: what several commands of a noun share, and what a command does beyond parsing and emitting."""
