"""Named clusters."""
