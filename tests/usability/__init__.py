"""The twenty tasks of a night shift: what to type, what the answer must say, and how long it may be at most."""
