"""Reading stores in splits on the workers."""
