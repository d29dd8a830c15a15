"""MQ4: offsets, backlog and retries. A file is a theme; each registers its rules when it is imported."""
