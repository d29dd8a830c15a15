"""MQ2: subscriptions and the identity of clients. A file is a theme; each registers its rules when it is imported."""
