"""MQ6: routes, permissions, addresses and rooms. A file is a theme; each registers its rules when it is imported."""
