"""Publishing stored messages again."""
