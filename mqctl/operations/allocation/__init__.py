"""Who gets which queue, and what would change it."""
