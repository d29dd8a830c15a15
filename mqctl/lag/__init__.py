"""What bounds the consumption of a backlog, how long it takes, and what helps."""
