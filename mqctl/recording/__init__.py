"""The flight recorder's files: what a cluster looked like, look by look, as Parquet by kind and day."""
