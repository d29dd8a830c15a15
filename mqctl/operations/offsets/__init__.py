"""Consumer offsets: plans from options, and changing them."""
