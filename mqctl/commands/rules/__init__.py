"""The diagnosis rules."""
