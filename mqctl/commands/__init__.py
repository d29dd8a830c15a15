"""The command line's verbs: one file a command, parse -> gather -> evaluate -> render."""
