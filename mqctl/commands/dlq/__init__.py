"""`mqctl dlq`: what consumer groups gave up."""
