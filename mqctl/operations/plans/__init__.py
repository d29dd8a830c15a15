"""Plans as they are shown, confirmed and carried out step by step."""
