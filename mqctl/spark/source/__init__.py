"""The data source: stores as tables."""
