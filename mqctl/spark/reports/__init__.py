"""Reports: each a function from source tables to a DataFrame, and its rows as plain values."""
