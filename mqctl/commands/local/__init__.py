"""RocketMQ clusters on this machine."""
