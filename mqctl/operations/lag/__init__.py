"""How far groups are behind: one look, a watch, and what would help."""
