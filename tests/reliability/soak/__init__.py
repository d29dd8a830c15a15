"""The soak: mixed load for a long time on brokers of both releases, in which nothing may grow and nothing get lost."""
