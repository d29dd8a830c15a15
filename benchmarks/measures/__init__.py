"""Measures of the house: how far a command runs, what a change touches, how much code there is."""
