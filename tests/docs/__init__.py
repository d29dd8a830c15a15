"""Documentation that is held to what it describes."""
