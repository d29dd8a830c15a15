"""What happened between two moments of a recording: one file for each kind of rows that is compared."""
