"""Delay levels and timers: what waits, repairs, and ways to a far moment."""
