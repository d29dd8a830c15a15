"""What several nouns ask."""
