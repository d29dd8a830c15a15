"""Messages on their way out and in."""
