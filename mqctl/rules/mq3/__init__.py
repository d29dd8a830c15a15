"""MQ3: who owns queues, threads and parallelism. A file is a theme; each registers its rules when it is imported."""
