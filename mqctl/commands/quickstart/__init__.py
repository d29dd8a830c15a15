"""`mqctl quickstart`: the first minute."""
