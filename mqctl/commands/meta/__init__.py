"""`mqctl commands`, `completion` and `version`: about mqctl itself."""
