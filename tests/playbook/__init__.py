"""Playbooks: their form, their run, their texts."""
