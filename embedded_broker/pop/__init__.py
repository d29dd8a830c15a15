"""POP consumption of 5.x: messages are shared, not queues; what is taken and not acknowledged in time comes again."""
