"""`mqctl lock`: the locks that keep ordered consumption in order."""
