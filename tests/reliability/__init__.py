"""Long runs against hostile input, kills, failing disks and time; each is a command, with a short version in the suite.

`python -m tests.reliability.fuzz`, `.kills`, `.pop_kills`, `.disks` and `.soak`; docs/reliability.md shows
what they found.
"""
