"""`mqctl order`: whether messages that belong in order can be in order."""
