"""The embedded broker under load: speed, start, size."""
