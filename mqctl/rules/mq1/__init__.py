"""MQ1: stores, brokers and their replication. A file is a theme; each registers its rules when it is imported."""
