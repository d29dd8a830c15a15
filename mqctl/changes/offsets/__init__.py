"""Consumer offsets: what a group is to read next, who holds its queues, and how they are moved and proven."""
