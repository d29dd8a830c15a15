"""MQ7: delayed messages and transactions. A file is a theme; each registers its rules when it is imported."""
