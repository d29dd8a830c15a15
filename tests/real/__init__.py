"""Clusters of released RocketMQ brokers, and the tests that run on them (`pytest -m real`)."""
