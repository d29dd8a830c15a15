"""`mqctl replay`: take messages of the past again, by a group of its own or by publishing them once more."""
