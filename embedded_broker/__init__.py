"""A RocketMQ name server and broker in pure Python."""
