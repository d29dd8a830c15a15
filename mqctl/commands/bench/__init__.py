"""How fast a cluster is: sends and consumption under load, measured and compared."""
