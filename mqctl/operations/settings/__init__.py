"""Settings of topics, groups and brokers: planned, changed, taken back, listed."""
