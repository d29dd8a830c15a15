"""The commit log: taking messages in, flushing, consume queues, retention."""
