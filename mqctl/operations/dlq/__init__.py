"""Dead letters: listing and sending them again."""
