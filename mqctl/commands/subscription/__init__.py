"""What the members of groups want."""
