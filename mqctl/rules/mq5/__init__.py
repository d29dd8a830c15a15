"""MQ5: order. A file is a theme; each registers its rules when it is imported."""
