"""Fuzzing of everything that reads what others wrote. Run it by `python -m tests.reliability.fuzz --help`."""
