"""Half messages, op messages and the check."""
