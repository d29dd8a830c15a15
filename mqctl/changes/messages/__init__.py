"""Messages that are sent again: republished, resent from dead letters, followed; each read back where it was stored."""
