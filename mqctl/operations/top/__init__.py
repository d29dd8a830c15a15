"""The live screen: its frames and its loop."""
