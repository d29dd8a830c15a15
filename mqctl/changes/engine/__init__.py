"""What all changes have in common: show, confirm, lock, plan again, journal, carry out, prove, tell what is next."""
