"""mqctl: operations and diagnostics for Apache RocketMQ."""

__version__ = "0.1.0"
