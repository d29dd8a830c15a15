"""Clusters and their brokers."""
