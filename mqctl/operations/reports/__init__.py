"""Running offline reports."""
