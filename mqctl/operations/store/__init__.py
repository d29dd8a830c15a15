"""What is done about stores themselves."""
