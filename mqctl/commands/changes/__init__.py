"""What changed, and taking it back: `mqctl history` and `mqctl undo`."""
