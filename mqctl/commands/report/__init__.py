"""`mqctl report`: offline analysis of store directories with Spark."""
