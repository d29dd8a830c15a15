"""Load on a cluster: sends and consumption as fast as they go or by schedule, measured, compared, limited."""
