"""The catalogue in Chinese."""
