"""Clients, their offsets, locks, subscriptions, filters and held pulls."""
