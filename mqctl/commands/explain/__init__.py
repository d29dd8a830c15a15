"""Another system in RocketMQ's terms."""
