"""Changes as plans: what is to become what, shown, confirmed, carried out, proven by reading back, and undone."""
