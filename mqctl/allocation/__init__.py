"""Which consumer gets which queue: RocketMQ's strategies, every instance's own view, what-if simulation. All pure."""
