"""Looks at a live cluster, written down again and again, and what they tell afterwards."""
