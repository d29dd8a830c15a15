"""Changes in steps, of one thing each: files of delay offsets, acknowledgements, and those that nouns declare."""
