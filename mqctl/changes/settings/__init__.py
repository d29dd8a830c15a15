"""Settings of topics, groups, brokers and access: planned, changed, read back, undone."""
