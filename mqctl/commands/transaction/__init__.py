"""`mqctl transaction`: messages that are held back until their producer says how they end."""
