"""Topics and groups that mqctl makes for traffic of its own: told by their prefix, made and removed by plan."""
