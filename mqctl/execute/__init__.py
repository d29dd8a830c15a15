"""Plans carried out: the requests, the proof by reading back, and the journal that every change can be undone from."""
