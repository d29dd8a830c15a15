"""Documentation and what generates its references."""
