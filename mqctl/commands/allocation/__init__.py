"""Who consumes which queue."""
